"""Addresses of databases as JDBC writes them: jdbc:postgresql://host:port/database?name=value."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from headrace.connectors.jdbc import tls
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

_LOG = logging.getLogger("headrace")
POSTGRESQL, MYSQL = "postgresql", "mysql"
_KINDS = {"postgresql": POSTGRESQL, "mysql": MYSQL, "mariadb": MYSQL}
_PORTS = {POSTGRESQL: 5432, MYSQL: 3306}
_SERVED = "There are jdbc:postgresql://…, jdbc:mysql://… and jdbc:mariadb://…"
_FORM = "Write jdbc:postgresql://host:5432/database or jdbc:mysql://host:3306/database."
_WITHOUT_MEANING = """
    allowPublicKeyRetrieval applicationName autoReconnect binaryTransfer cachePrepStmts
    characterEncoding defaultFetchSize failOverReadOnly loginTimeout prepStmtCacheSize
    prepStmtCacheSqlLimit prepareThreshold reWriteBatchedInserts rewriteBatchedStatements
    serverTimezone stringtype tcpKeepAlive tinyInt1isBit useBulkStmts useCompression
    useCursorFetch useLegacyDatetimeCode useServerPrepStmts useUnicode yearIsDateType
    zeroDateTimeBehavior
"""
"""What tells Java's drivers to do what Python's do anyway, or have no need to do."""
_UNDERSTOOD = {
    POSTGRESQL: """
        user password ssl sslfactory sslmode sslrootcert sslcert sslkey connectTimeout
        currentSchema ApplicationName options replication
    """,
    MYSQL: """
        user password useSSL sslMode requireSSL verifyServerCertificate serverSslCert
        connectTimeout socketTimeout
    """,
}
_CHECKS = {POSTGRESQL: tls.check_postgresql, MYSQL: tls.check_mysql}


@dataclass(frozen=True)
class Address:
    """Where a database is. Its text shows neither user nor password nor anything else given."""

    kind: str
    scheme: str
    host: str
    port: int
    database: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"jdbc:{self.scheme}://{host}:{self.port}/{self.database}"


def parse_address(text: object) -> Address:
    """The address that a text means; a text that means none is refused without being shown
    beyond its host, for it may hold a password."""
    if not isinstance(text, str) or not text.startswith("jdbc:"):
        raise InvalidArgument(
            "the address of a database begins with 'jdbc:'", origin=calling_origin(), hint=_FORM
        )
    scheme, _, rest = text.removeprefix("jdbc:").partition(":")
    if scheme not in _KINDS:
        raise InvalidArgument(
            f"there is no driver for addresses that begin with 'jdbc:{scheme}:'",
            origin=calling_origin(),
            hint=_SERVED,
        )
    if not rest.startswith("//"):
        raise _unreadable(scheme, "'//' and a host are missing")
    place, _, query = rest.removeprefix("//").partition("?")
    authority, _, database = place.partition("/")
    properties = dict(parse_qsl(query, keep_blank_values=True))
    login, at, hosts = authority.rpartition("@")
    if at:
        user, _, password = login.partition(":")
        properties = {"user": unquote(user), "password": unquote(password), **properties}
    if "," in hosts:
        raise _unreadable(scheme, "it names several hosts, and one is served")
    host, port = _host_and_port(hosts, scheme)
    kind = _KINDS[scheme]
    _CHECKS[kind](properties)
    _warn_of_unknown(kind, properties)
    return Address(kind, scheme, host, port, unquote(database), properties)


def _host_and_port(text: str, scheme: str) -> tuple[str, int]:
    default = _PORTS[_KINDS[scheme]]
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed:
            raise _unreadable(scheme, "']' after the host is missing")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    if port and not port.isdigit():
        raise _unreadable(scheme, f"{port!r} is no port")
    return unquote(host) or "localhost", int(port) if port else default


def _unreadable(scheme: str, why: str) -> InvalidArgument:
    return InvalidArgument(
        f"an address that begins with 'jdbc:{scheme}:' cannot be read: {why}",
        origin=calling_origin(),
        hint=_FORM,
    )


def _warn_of_unknown(kind: str, properties: Mapping[str, str]) -> None:
    known = f"{_UNDERSTOOD[kind]} {_WITHOUT_MEANING}".split()
    for name in properties:
        if name not in known:
            _LOG.warning("the property %r of a database's address has no meaning here", name)
