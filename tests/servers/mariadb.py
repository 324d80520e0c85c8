"""A MariaDB server for tests."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from headrace.testing.servers.ports import free_ports
from tests.servers.packages import as_user, require, server_folder, server_user, wait_for

USER, PASSWORD = "river", "s3cret water"
_SETTINGS = {
    "bind-address": "127.0.0.1",
    "log-bin": "binlog",
    "binlog-format": "ROW",
    "binlog-row-metadata": "FULL",
    "server-id": "1",
    "innodb-flush-log-at-trx-commit": "2",  # to the system's cache, which outlives the process
    "sync-binlog": "0",
    "innodb-doublewrite": "0",
    "innodb-buffer-pool-size": "64M",
    "innodb-log-file-size": "32M",
    "innodb-lock-wait-timeout": "20",
    "character-set-server": "utf8mb4",
    "skip-name-resolve": "1",
}


def _program() -> Path | None:
    found = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
    return Path(found) if found else None


class MariaDB:
    """One server on loopback, with a user that owns the database `test`."""

    user, password, database = USER, PASSWORD, "test"

    def __init__(self) -> None:
        self._program = require(_program, "mariadb-server")
        self.owner = server_user("mysql")
        self.folder = server_folder(self.owner)
        (self.port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        installer = shutil.which("mariadb-install-db") or "/usr/bin/mariadb-install-db"
        done = subprocess.run(
            [
                installer,
                "--no-defaults",
                f"--datadir={self.folder / 'data'}",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                "--innodb-log-file-size=32M",
            ],
            user=as_user(self.owner),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self.start(as_root=True)
        with self._as_root() as session, session.cursor() as cursor:
            cursor.execute("CREATE DATABASE test")
            cursor.execute(f"CREATE USER {USER}@'%%' IDENTIFIED BY %s", (PASSWORD,))
            cursor.execute(f"GRANT ALL ON *.* TO {USER}@'%' WITH GRANT OPTION")

    def _as_root(self) -> Any:
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root")

    def start(self, *, as_root: bool = False, **more: str) -> None:
        """Start it, again after `kill`: with the same data, at the same port. `more` settings are
        for this time."""
        log = self.folder / "log"
        chosen = {**_SETTINGS, **{name.replace("_", "-"): value for name, value in more.items()}}
        settings = [f"--{name}={value}" for name, value in chosen.items()]
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [
                    str(self._program),
                    "--no-defaults",
                    f"--datadir={self.folder / 'data'}",
                    f"--port={self.port}",
                    f"--socket={self.folder / 'socket'}",
                    f"--pid-file={self.folder / 'pid'}",
                    *settings,
                ],
                user=as_user(self.owner),
                cwd=self.folder,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        answers = self._as_root if as_root else self.connect
        wait_for(lambda: answers().close(), self._process, log)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def remove(self) -> None:
        """End it and all that it has."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self) -> str:
        return f"jdbc:mysql://127.0.0.1:{self.port}/{self.database}"

    def connect(self, database: str = "test") -> Any:
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=PASSWORD,
            database=database,
            autocommit=True,
            connect_timeout=10,
        )

    def run(self, *statements: str) -> None:
        with self.connect() as session, session.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as session, session.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def prepared(self) -> list[str]:
        """Transactions that are prepared and neither committed nor rolled back."""
        return [str(data) for *_, data in self.rows("XA RECOVER")]


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """The server that all tests of a process share; they make tables of their own names."""
    server = MariaDB()
    yield server
    server.remove()
