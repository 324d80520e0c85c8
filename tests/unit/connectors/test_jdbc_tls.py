"""What the addresses of databases ask of TLS, without a server."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from headrace.connectors.jdbc.addresses import parse_address
from headrace.connectors.jdbc.tls import mysql_settings, postgresql_settings
from headrace.errors import InvalidArgument, Unsupported


@pytest.mark.parametrize(
    ("query", "verifies", "names"),
    [
        ("sslMode=REQUIRED", ssl.CERT_NONE, False),
        ("sslMode=trust", ssl.CERT_NONE, False),
        ("useSSL=true", ssl.CERT_NONE, False),
        ("requireSSL=true", ssl.CERT_NONE, False),
        ("sslMode=VERIFY_CA", ssl.CERT_REQUIRED, False),
        ("sslMode=verify-ca", ssl.CERT_REQUIRED, False),
        ("useSSL=true&verifyServerCertificate=true", ssl.CERT_REQUIRED, False),
        ("sslMode=VERIFY_IDENTITY", ssl.CERT_REQUIRED, True),
        ("sslMode=verify_identity&useSSL=false", ssl.CERT_REQUIRED, True),
        ("sslMode=verify-full", ssl.CERT_REQUIRED, True),
    ],
)
def test_what_mysql_verifies(query: str, verifies: ssl.VerifyMode, names: bool) -> None:
    properties = parse_address(f"jdbc:mysql://h/db?{query}").properties
    context = mysql_settings(properties)["ssl"]
    assert context.verify_mode is verifies
    assert context.check_hostname is names


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("", {}),
        ("sslMode=PREFERRED", {}),
        ("sslMode=DISABLED", {"ssl_disabled": True}),
        ("sslMode=disable", {"ssl_disabled": True}),
        ("useSSL=false", {"ssl_disabled": True}),
    ],
)
def test_without_tls_or_with_what_there_is(query: str, settings: dict[str, object]) -> None:
    properties = parse_address(f"jdbc:mariadb://h/db?{query}").properties
    assert mysql_settings(properties) == settings


@pytest.mark.parametrize(
    ("address", "error", "message", "hint"),
    [
        ("mysql://h/d?sslMode=VERIFY", InvalidArgument, "sslMode=VERIFY, which is none of", ""),
        ("postgresql://h/d?sslmode=full", InvalidArgument, "sslmode=full, which is none of", ""),
        (
            "mysql://h/d?sslMode=VERIFY_CA&trustCertificateKeyStoreUrl=file:/s.jks",
            Unsupported,
            "'trustCertificateKeyStoreUrl' of a database's address names a key store of Java's",
            "serverSslCert=<a PEM file",
        ),
        (
            "mysql://h/d?sslMode=REQUIRED&serverSslCert=/ca.pem",
            InvalidArgument,
            "'serverSslCert' means nothing with sslMode=REQUIRED",
            "sslMode=VERIFY_IDENTITY",
        ),
    ],
)
def test_what_cannot_be_meant(
    address: str, error: type[Exception], message: str, hint: str
) -> None:
    with pytest.raises(error) as refused:
        parse_address(f"jdbc:{address}")
    assert message in str(refused.value)
    assert hint in str(refused.value)


def test_a_file_that_is_no_certificate(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere.pem", tmp_path / "empty.pem"):
        (tmp_path / "empty.pem").touch()
        with pytest.raises(InvalidArgument, match=f"serverSslCert={place} names a file in PEM"):
            mysql_settings({"serverSslCert": str(place)})


@pytest.mark.parametrize(
    ("query", "settings"),
    [
        ("", {}),
        ("sslmode=require", {"sslmode": "require"}),
        ("ssl=false", {}),
        ("ssl=true", {"sslmode": "verify-full", "sslrootcert": "system"}),
        ("ssl=true&sslmode=verify-ca", {"sslmode": "verify-ca"}),
        ("ssl=true&sslrootcert=/ca.pem", {"sslmode": "verify-full"}),
        ("ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory", {"sslmode": "require"}),
    ],
)
def test_what_postgresql_verifies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: str, settings: dict[str, str]
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert postgresql_settings(parse_address(f"jdbc:postgresql://h/db?{query}").properties) == (
        settings
    )


def test_postgresqls_own_file_of_certificates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".postgresql").mkdir()
    (tmp_path / ".postgresql" / "root.crt").touch()
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert postgresql_settings({"ssl": "true"}) == {"sslmode": "verify-full"}
