"""One Spark for the whole run, and short ways to run a job on it."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.spark.session import get_session
from tests.conftest import IN_REAL_TIME


@pytest.fixture(scope="session", autouse=True)
def one_spark() -> Iterator[None]:
    """Starting Spark is dear: the tests of a process share one, and end it."""
    yield
    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()


@pytest.fixture(scope="module", autouse=True)
def spark(one_spark: None) -> SparkSession:
    """The session jobs of a file run beside. A file that ran jobs in real time may have left
    another Spark behind than it found: one with more slots."""
    return get_session(slots=24 if IN_REAL_TIME else 0)


@pytest.fixture(params=["batch", "stream"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How bounded jobs of the test run."""
    chosen: str = request.param
    monkeypatch.setenv("HEADRACE_MODE", chosen)
    return chosen


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded jobs of the test run as a stream."""
    monkeypatch.setenv("HEADRACE_MODE", "stream")


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    """An environment with two subtasks for each operator."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    return environment


@pytest.fixture
def collected() -> Callable[[DataStream], Counter[Any]]:
    """Runs the job that ends in a stream; its records, each with its number of occurrences."""
    return lambda stream: Counter(stream.execute_and_collect())


@pytest.fixture
def lines_of() -> Callable[[Path], Counter[str]]:
    """The lines of the files a file sink has made visible below a folder."""
    return lambda folder: Counter(line for file in visible(folder) for line in _lines(file))


def visible(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.startswith((".", "_"))]  # fmt: skip


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Waits until something holds, and fails if it never does."""
    return wait_until


def wait_until(holds: Callable[[], Any], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"did not happen within {seconds} s")
        time.sleep(0.1)


class LineServer:
    """A TCP server that sends lines to whoever connects."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                self._connections.append(self._listening.accept()[0])
            except OSError:
                return

    def send(self, lines: Iterable[str]) -> None:
        wait_until(lambda: self._connections)
        for line in lines:
            for connection in self._connections:
                connection.sendall(f"{line}\n".encode())

    def close(self) -> None:
        # Closing alone would leave accept() waiting.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in self._connections:
            connection.close()


@pytest.fixture
def line_server() -> Iterator[LineServer]:
    server = LineServer()
    yield server
    server.close()
