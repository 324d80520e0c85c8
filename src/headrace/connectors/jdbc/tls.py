"""TLS as addresses of databases ask for it, in the words of Java's drivers."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.errors import InvalidArgument, Unsupported
from headrace.origin import calling_origin

_MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
_AS_MARIADB_SAYS = {"DISABLE": "DISABLED", "TRUST": "REQUIRED", "VERIFY_FULL": "VERIFY_IDENTITY"}
_VERIFIED = ("VERIFY_CA", "VERIFY_IDENTITY")
_POSTGRESQL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_JAVA_ONLY = (
    "trustCertificateKeyStoreUrl", "clientCertificateKeyStoreUrl", "trustStore", "keyStore",
)  # fmt: skip
_AUTHORITY_OF_USER = ".postgresql/root.crt"
"""Where PostgreSQL's drivers look for certificates that are trusted."""


def check_mysql(given: Mapping[str, str]) -> None:
    """Refuse what means nothing here, before anybody believes to be safe by it."""
    for name in _JAVA_ONLY:
        if name in given:
            raise Unsupported(
                f"the property {name!r} of a database's address names a key store of Java's",
                origin=calling_origin(),
                hint="Write serverSslCert=<a PEM file with the certificates that are trusted>, "
                "which keytool -exportcert -rfc makes; without it they are the system's.",
            )
    mode = _mysql_mode(given)
    if mode not in _MODES:
        raise _unknown("sslMode", given["sslMode"], _MODES)
    if "serverSslCert" in given and mode not in _VERIFIED:
        raise InvalidArgument(
            f"the property 'serverSslCert' means nothing with sslMode={mode}",
            origin=calling_origin(),
            hint="Write sslMode=VERIFY_IDENTITY, or VERIFY_CA for any host.",
        )


def check_postgresql(given: Mapping[str, str]) -> None:
    if "sslmode" in given and given["sslmode"] not in _POSTGRESQL_MODES:
        raise _unknown("sslmode", given["sslmode"], _POSTGRESQL_MODES)


def _unknown(name: str, value: str, known: tuple[str, ...]) -> InvalidArgument:
    return InvalidArgument(
        f"a database's address has {name}={value}, which is none of {', '.join(known)}",
        origin=calling_origin(),
    )


def _mysql_mode(given: Mapping[str, str]) -> str:
    if "sslMode" in given:
        mode = given["sslMode"].upper().replace("-", "_")
        return _AS_MARIADB_SAYS.get(mode, mode)
    if given.get("useSSL") == "false":
        return "DISABLED"
    if "serverSslCert" in given:
        return "VERIFY_IDENTITY"
    if "true" not in (given.get("useSSL"), given.get("requireSSL")):
        return "PREFERRED"
    return "VERIFY_CA" if given.get("verifyServerCertificate") == "true" else "REQUIRED"


def mysql_settings(given: Mapping[str, str]) -> dict[str, Any]:
    """What PyMySQL is told; what it does untold is TLS if the server has it, unverified."""
    mode = _mysql_mode(given)
    if mode == "PREFERRED":
        return {}
    if mode == "DISABLED":
        return {"ssl_disabled": True}
    file = given.get("serverSslCert")
    try:
        context = ssl.create_default_context(cafile=file)
    except (OSError, ssl.SSLError) as error:
        raise InvalidArgument(
            f"a certificate cannot be read: {error}",
            hint=f"serverSslCert={file} names a file in PEM form on each machine.",
        ) from None
    context.check_hostname = mode == "VERIFY_IDENTITY"
    if mode not in _VERIFIED:
        context.verify_mode = ssl.CERT_NONE
    # The certificate that is trusted may be the server's own, which signs no others; and those that
    # servers make for themselves lack what Python from 3.13 on is strict about.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return {"ssl": context}


def is_encrypted(connection: Any) -> bool:
    """Whether a connection of PyMySQL's is; older ones went on in the clear with a server that
    knows no TLS."""
    return isinstance(connection._sock, ssl.SSLSocket)


def postgresql_settings(given: Mapping[str, str]) -> dict[str, str]:
    """What libpq is told. `ssl=true` verifies everything, as with Java's driver."""
    settings = {}
    if "sslmode" in given:
        settings["sslmode"] = given["sslmode"]
    elif given.get("ssl", "false") != "false":
        verifies = not given.get("sslfactory", "").endswith("NonValidatingFactory")
        settings["sslmode"] = "verify-full" if verifies else "require"
    named = "sslrootcert" in given or (Path.home() / _AUTHORITY_OF_USER).exists()
    if settings.get("sslmode") == "verify-full" and not named:
        settings["sslrootcert"] = "system"
    return settings
