"""One Kafka broker on loopback that is its own controller, as a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from headrace.errors import JobFailed
from headrace.java import ensure_java
from headrace.testing.servers.jars import fetch_jars
from headrace.testing.servers.ports import free_ports
from headrace.testing.servers.server import Server

__all__ = ["KafkaBroker"]

VERSION = "4.3.1"
_PATIENCE_S = 120.0
_HEAP = "256m"
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{more_listeners}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{more_advertised}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config={jaas}
log.dirs={folder}/data
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.retention.ms=-1
log.flush.interval.messages=100000
num.network.threads=2
num.io.threads=4
log.cleaner.dedupe.buffer.size=16777216
"""
_NOISE = ("SLF4J:", "Bootstrap metadata:", "Formatting dynamic metadata")
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";'


class KafkaBroker(Server):
    """A broker that is there until `stop`; `kill` and `start` let a test take it away meanwhile.

    Records stay, whatever their timestamps: those of tests are often of 1970, and a broker that
    keeps them for a week only removes such half a minute after its start.

    Nobody but this machine can reach it. `sasl_servers` wants the name and password of `user`.
    """

    user = ("headrace", "headrace-secret")

    def __init__(self, folder: Path | None = None, port: int | None = None):
        """`folder`: where its data goes; None: somewhere that is gone afterwards. `port`: where it
        listens; None: where nobody else does."""
        self._own = folder is None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
        free, self._sasl_port, controller = free_ports(3)
        self._port = free if port is None else port
        self._process: subprocess.Popen[bytes] | None = None
        name, password = self.user
        self._settings = self._folder / "server.properties"
        self._settings.write_text(
            _SETTINGS.format(
                port=self._port,
                controller=controller,
                folder=self._folder,
                more_listeners=f",SASL://127.0.0.1:{self._sasl_port}",
                more_advertised=f",SASL://127.0.0.1:{self._sasl_port}",
                jaas=_JAAS.format(user=name, password=password),
            ),
            encoding="utf-8",
        )

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def sasl_servers(self) -> str:
        return f"127.0.0.1:{self._sasl_port}"

    def start(self) -> None:
        """Start it, with what it had before; returns when it answers."""
        if not (self._folder / "data" / "meta.properties").exists():
            self._java(
                "kafka.tools.StorageTool",
                *("format", "--standalone", "-t", _new_id(), "-c", str(self._settings)),
            ).wait()
        self._process = self._java("kafka.Kafka", str(self._settings))
        deadline = time.monotonic() + _PATIENCE_S
        while not self._answers():
            ended = self._process.poll() is not None
            if ended or time.monotonic() > deadline:
                how = "ended at once" if ended else f"did not answer within {_PATIENCE_S:.0f} s"
                said = self.last_words()
                self.stop()
                raise JobFailed(
                    f"the Kafka broker {how}{': ' if said else ''}{said}",
                    hint=f"It needs {_HEAP[:-1]} MB of memory, and room in {self._folder}.",
                )
            time.sleep(0.1)

    @property
    def is_running(self) -> bool:
        """Whether its process is there; a broker whose disk is full ends by itself."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """Let it die at once, as a machine does that loses its power."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGKILL)
        if self._own:
            shutil.rmtree(self._folder, ignore_errors=True)

    def last_words(self) -> str:
        """The end of what it has written to its log, or nothing."""
        try:
            text = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        lines = (line for line in text.splitlines() if not line.startswith(_NOISE))
        return "\n".join(lines)[-2000:]

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait()

    def _java(self, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        jars = fetch_jars("org.apache.kafka", "kafka_2.13", VERSION)
        quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [
                    str(ensure_java() / "bin" / "java"),
                    f"-Xmx{_HEAP}",
                    *quick,
                    "-cp",
                    f"{jars}/*",
                    main,
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "KAFKA_HEAP_OPTS": ""},
                start_new_session=True,
            )

    def _answers(self) -> bool:
        from confluent_kafka.admin import AdminClient

        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5):
                pass
            admin = AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})
            return bool(admin.list_topics(timeout=10).brokers)
        except Exception:  # it has not come so far
            return False


def _new_id() -> str:
    """A cluster's id; with a dash at its beginning it would be taken for an option."""
    first, *rest = uuid.uuid4().bytes
    return urlsafe_b64encode(bytes([first & 0x7F, *rest])).decode().rstrip("=")
