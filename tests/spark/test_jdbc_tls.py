"""TLS to databases: what it verifies, and what is said where it cannot be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.jdbc.databases import open_database
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.sessions import Session
from headrace.errors import SourceUnavailable
from tests.servers.certificates import certify
from tests.servers.mariadb import MariaDB, mariadb  # noqa: F401
from tests.servers.postgres import Postgres, postgres  # noqa: F401

HOST = "localhost"
"""What the servers' certificates are for; 127.0.0.1 is not in them."""
ENCRYPTED = {
    "MariaDB": "SELECT variable_value <> '' FROM information_schema.session_status "
    "WHERE variable_name = 'Ssl_cipher'",
    "Postgres": "SELECT ssl::int FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
}


def is_encrypted(server: Any, properties: str, host: str = "127.0.0.1") -> bool:
    url = f"{server.url.replace('127.0.0.1', host)}?{properties}"
    session = Session(open_database(JdbcConnectionOptions(url, None, server.user, server.password)))
    try:
        with session.connection().cursor() as cursor:
            cursor.execute(ENCRYPTED[type(server).__name__])
            return bool(cursor.fetchone()[0])
    finally:
        session.close()


def complaint(server: Any, properties: str, host: str = "127.0.0.1") -> str:
    with pytest.raises(SourceUnavailable) as failure:
        is_encrypted(server, properties, host)
    assert server.password not in str(failure.value)
    assert "See that the server speaks TLS at this port" in str(failure.value)
    return str(failure.value)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the certificate is that a program trusts."""
    return tmp_path_factory.mktemp("tls") / "server.crt"


@pytest.fixture(scope="module")
def secure_mariadb(mariadb: MariaDB, trusted: Path) -> Iterator[MariaDB]:  # noqa: F811
    made = certify(mariadb.folder, HOST, mariadb.owner)
    trusted.write_bytes(made.certificate.read_bytes())
    mariadb.kill()
    mariadb.start(ssl_cert=str(made.certificate), ssl_key=str(made.key))
    yield mariadb
    mariadb.kill()
    mariadb.start()


@pytest.fixture(scope="module")
def secure_postgres(postgres: Postgres, trusted: Path) -> Iterator[Postgres]:  # noqa: F811
    made = certify(postgres.folder, HOST, postgres.owner)
    trusted.write_bytes(made.certificate.read_bytes())
    files = {"ssl_cert_file": made.certificate, "ssl_key_file": made.key}
    postgres.run(*(f"ALTER SYSTEM SET {name} = '{file}'" for name, file in files.items()))
    postgres.run("ALTER SYSTEM SET ssl = on")
    postgres.kill()
    postgres.start()
    yield postgres
    postgres.run("ALTER SYSTEM RESET ALL")
    postgres.kill()
    postgres.start()


def test_a_port_without_tls(mariadb: MariaDB, postgres: Postgres) -> None:  # noqa: F811
    for mode in ("REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"):
        assert "server doesn't support it" in complaint(mariadb, f"sslMode={mode}")
    assert not is_encrypted(mariadb, "sslMode=PREFERRED")
    assert not is_encrypted(mariadb, "sslMode=DISABLED")
    assert "server does not support SSL" in complaint(postgres, "sslmode=require")
    assert "server does not support SSL" in complaint(postgres, "ssl=true")
    assert not is_encrypted(postgres, "sslmode=prefer")


def test_mariadb_is_believed_as_far_as_asked(secure_mariadb: MariaDB, trusted: Path) -> None:
    server, own = secure_mariadb, f"serverSslCert={trusted}"
    assert not is_encrypted(server, "sslMode=DISABLED")
    assert is_encrypted(server, "sslMode=REQUIRED")
    assert is_encrypted(server, f"sslMode=VERIFY_CA&{own}")
    assert is_encrypted(server, f"sslMode=VERIFY_IDENTITY&{own}", HOST)
    assert is_encrypted(server, f"sslMode=verify-full&{own}", HOST)
    assert "certificate verify failed" in complaint(server, "sslMode=VERIFY_CA")
    assert "certificate verify failed" in complaint(server, "sslMode=VERIFY_IDENTITY", HOST)
    assert "IP address mismatch" in complaint(server, f"sslMode=VERIFY_IDENTITY&{own}")


def test_postgresql_is_believed_as_far_as_asked(secure_postgres: Postgres, trusted: Path) -> None:
    server, own = secure_postgres, f"sslrootcert={trusted}"
    assert not is_encrypted(server, "sslmode=disable")
    assert is_encrypted(server, "sslmode=require")
    assert is_encrypted(server, "ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory")
    assert is_encrypted(server, f"sslmode=verify-ca&{own}")
    assert is_encrypted(server, f"sslmode=verify-full&{own}", HOST)
    assert is_encrypted(server, f"ssl=true&{own}", HOST)
    assert "certificate verify failed" in complaint(server, "ssl=true", HOST)
    assert "does not match host name" in complaint(server, f"sslmode=verify-full&{own}")
