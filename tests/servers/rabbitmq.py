"""A RabbitMQ server for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pika
import pytest

from headrace.datastream.connectors.rabbitmq import RMQConnectionConfig
from headrace.testing.servers.ports import free_ports
from tests.servers.packages import (
    as_user,
    kill_with_children,
    require,
    server_folder,
    server_user,
    wait_for,
)

USER, PASSWORD = "river", "s3cret-water"
_SETTINGS = f"""
default_user = {USER}
default_pass = {PASSWORD}
log.console.level = warning
vm_memory_high_watermark.relative = 0.8
disk_free_limit.absolute = 10MB
"""


def _program() -> Path | None:
    found = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")  # that on PATH insists on its own user
    return found if found.exists() else None


def config_of(port: int, /, **options: Any) -> RMQConnectionConfig:
    """What a program connects with; `options`: what else is set, or otherwise."""
    usual: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": port,
        "user_name": USER,
        "password": PASSWORD,
    }
    builder = RMQConnectionConfig.Builder()
    for name, value in {**usual, **options}.items():
        getattr(builder, f"set_{name}")(value)
    return builder.build()


class RabbitMQ:
    """One server on loopback with a name server of its own, which both end with it."""

    user, password = USER, PASSWORD

    def __init__(self) -> None:
        self._program = require(_program, "rabbitmq-server")
        self._owner = server_user("rabbitmq")
        self.folder = server_folder(self._owner)
        self.port, self._names_port, self._nodes_port = free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None
        for name, text in (("settings.conf", _SETTINGS), ("plugins", "[].\n")):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o644)
        self._names = self._begin(
            [shutil.which("epmd") or "/usr/bin/epmd", "-relaxed_command_check"]
        )
        # A server that finds no name server ends.
        names_at = ("127.0.0.1", self._names_port)
        log = self.folder / "log"
        wait_for(lambda: socket.create_connection(names_at, 10).close(), self._names, log)
        self.start()

    def _begin(self, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as out:
            return subprocess.Popen(
                command,
                user=as_user(self._owner),
                cwd=self.folder,
                env=self._environ(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _environ(self) -> dict[str, str]:
        own = {
            "CONFIG_FILE": "settings.conf",
            "ENABLED_PLUGINS_FILE": "plugins",
            "GENERATED_CONFIG_DIR": "config",
            "LOG_BASE": "logs",
            "MNESIA_BASE": "data",
            "PID_FILE": "pid",
            "SCHEMA_DIR": "schema",
        }
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "ERL_EPMD_PORT": str(self._names_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"rabbit-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._nodes_port),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-start_epmd false +S 1:1 +sbwt none",
            **{f"RABBITMQ_{name}": str(self.folder / path) for name, path in own.items()},
        }

    def start(self) -> None:
        """Start it, again after `kill`: with the same queues, at the same port."""
        self._process = self._begin([str(self._program)])
        wait_for(lambda: self._connect().close(), self._process, self.folder / "log", 300)

    def kill(self) -> None:
        """SIGKILL for the server and what it has begun."""
        assert self._process is not None
        kill_with_children(self._process)

    def remove(self) -> None:
        """End it and all that it has."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._names.kill()
        self._names.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def config(self, **options: Any) -> RMQConnectionConfig:
        return config_of(self.port, **options)

    def _connect(self) -> pika.BlockingConnection:
        login = pika.PlainCredentials(USER, PASSWORD)
        return pika.BlockingConnection(
            pika.ConnectionParameters(
                "127.0.0.1", self.port, "/", login, socket_timeout=60, stack_timeout=60
            )
        )

    @contextmanager
    def channel(self) -> Iterator[Any]:
        connection = self._connect()
        try:
            yield connection.channel()
        finally:
            connection.close()

    def send(self, queue: str, contents: Iterable[object], *, ids: bool = True) -> None:
        """Persistent messages, by default with themselves as correlation ids."""
        with self.channel() as channel:
            channel.queue_declare(queue, durable=True)
            channel.tx_select()
            for content in contents:
                properties = pika.BasicProperties(
                    delivery_mode=2, correlation_id=str(content) if ids else None
                )
                body = content if isinstance(content, bytes) else str(content).encode()
                channel.basic_publish("", queue, body, properties)
            channel.tx_commit()

    def take(self, queue: str) -> list[str]:
        """All messages that wait in a queue; they are gone afterwards."""
        with self.channel() as channel:
            channel.queue_declare(queue, durable=True)
            found: list[str] = []
            while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
                found.append(got[2].decode())
            return found

    def waiting(self, queue: str) -> int:
        """How many messages are ready; those on their way to somebody are not."""
        with self.channel() as channel:
            count: int = channel.queue_declare(queue, durable=True).method.message_count
            return count

    def unacknowledged(self, queue: str) -> int:
        """How many messages are on their way to somebody."""
        asked = ["-q", "list_queues", "--no-table-headers", "name", "messages_unacknowledged"]
        done = subprocess.run(
            [str(self._program.with_name("rabbitmqctl")), *asked],
            user=as_user(self._owner),
            cwd=self.folder,
            env=self._environ(),
            capture_output=True,
            text=True,
            check=True,
        )
        counts = dict(line.rsplit(None, 1) for line in done.stdout.splitlines())
        return int(counts[queue])


@pytest.fixture(scope="session")
def rabbitmq() -> Iterator[RabbitMQ]:
    """The server that all tests of a process share; they use queues of their own names."""
    server = RabbitMQ()
    yield server
    server.remove()
