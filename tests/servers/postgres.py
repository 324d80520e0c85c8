"""A PostgreSQL server for tests."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headrace.testing.servers.ports import free_ports
from tests.servers.packages import (
    as_user,
    kill_with_children,
    require,
    server_folder,
    server_user,
    wait_for,
)

USER, PASSWORD = "river", "s3cret water"
_SETTINGS = {
    "max_prepared_transactions": "64",
    "wal_level": "logical",
    "fsync": "off",  # a killed server loses nothing by that, only a machine without power would
    "full_page_writes": "off",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "password_encryption": "scram-sha-256",
    "logging_collector": "off",
}


def _program() -> Path | None:
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if versions:
        return versions[-1].parent
    return Path(on_path).resolve().parent if on_path else None


class Postgres:
    """One server on loopback, with a user that owns the database `test`."""

    user, password, database = USER, PASSWORD, "test"

    def __init__(self) -> None:
        self._programs = require(_program, "postgresql")
        self.owner = server_user("postgres")
        self.folder = server_folder(self.owner)
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        secret = self.folder / "secret"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            "initdb",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
            "-U",
            USER,
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "-D",
            str(self.folder / "data"),
        )
        self.start()
        with self.connect("postgres") as session:
            session.execute("CREATE DATABASE test")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            user=as_user(self.owner),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start it, again after `kill`: with the same data, at the same port."""
        log = self.folder / "log"
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [
                    str(self._programs / "postgres"),
                    "-D",
                    str(self.folder / "data"),
                    "-p",
                    str(self.port),
                    "-h",
                    "127.0.0.1",
                    "-k",
                    str(self.folder),
                    *settings,
                ],
                user=as_user(self.owner),
                cwd=self.folder,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        wait_for(lambda: self.connect("postgres").close(), self._process, log)

    def kill(self) -> None:
        """SIGKILL for the server and all processes that serve sessions."""
        assert self._process is not None
        kill_with_children(self._process)
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def remove(self) -> None:
        """End it and all that it has; of what the system lent it, it gives everything back."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.database}"

    def connect(self, database: str = "test") -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=PASSWORD,
            dbname=database,
            autocommit=True,
            connect_timeout=10,
        )

    def run(self, *statements: str) -> None:
        with self.connect() as session:
            for statement in statements:
                session.execute(statement.encode())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as session:
            return session.execute(query.encode()).fetchall()

    def prepared(self) -> list[str]:
        """Transactions that are prepared and neither committed nor rolled back."""
        return [gid for (gid,) in self.rows("SELECT gid FROM pg_prepared_xacts")]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server that all tests of a process share; they make tables of their own names."""
    server = Postgres()
    yield server
    server.remove()
