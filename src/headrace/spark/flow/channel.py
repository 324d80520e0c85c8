"""Connections between the driver and the tasks of a job.

Each end proves that it knows the job's key before anything is unpickled.
"""

from __future__ import annotations

import os
import pickle
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from typing import Any, NoReturn, Protocol

from headrace.runtime.flow.messages import AsksForFiles, Hello, Leave, TaskId
from headrace.runtime.pickling import dumps

_GRACE = 8.0
"""Seconds after which a task leaves in any case; longer than the driver waits for all of them."""
_TAKES_WITHIN = 50.0
"""Seconds in which a task takes something of what it is told. One that does not stands still, or
its machine does: it counts as gone, and the job is started again."""
_AT_LEAST = 0.1
HUNG_UP = object()
"""Stands for the end of a connection."""


@dataclass(frozen=True)
class Address:
    """Where the driver listens, and the key that shows who belongs to the job."""

    host: str
    port: int
    key: bytes


class Clerk(Protocol):
    """Answers what a task asks for, one question after the other."""

    def answer(self, request: Any) -> Any: ...

    def close(self) -> None:
        """Nothing more will be asked."""


class Server:
    """The driver's end: takes messages of all tasks in, one after the other."""

    def __init__(
        self,
        host: str,
        take: Callable[[TaskId, Any], None],
        clerk: Callable[[], Clerk] | None = None,
        *,
        takes_within: float = _TAKES_WITHIN,
    ):
        """`take` is called by many threads, with HUNG_UP when a task has gone.

        `clerk`: makes who answers one task that asks for files, in a thread of its own.
        `takes_within`: seconds after which a task has gone that takes nothing of what it is told.
        """
        self._take = take
        self._clerk = clerk
        self._asking: set[_Line] = set()
        self._listener = Listener((host, 0), "AF_INET", backlog=256)
        self._key = secrets.token_bytes(32)
        self._lines: dict[TaskId, _Line] = {}
        self._lock = threading.Lock()
        self._takes_within = takes_within
        self._closed = False
        self._door = threading.Thread(target=self._accept, daemon=True, name="headrace-channel")
        self._door.start()

    @property
    def address(self) -> Address:
        host, port = self._listener.address
        return Address(host, port, self._key)

    def send(self, task: TaskId, message: Any) -> None:
        """Say something to a task; nothing happens if it is gone, or goes because of this."""
        line = self._lines.get(task)
        if line is not None:
            line.send(message)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError:
                continue
            threading.Thread(
                target=self._serve, args=(connection,), daemon=True, name="headrace-channel"
            ).start()

    def _serve(self, connection: Connection[Any, Any]) -> None:
        task: TaskId | None = None
        line = _Line(connection, self._takes_within)
        try:
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            hello = pickle.loads(connection.recv_bytes())
            if isinstance(hello, AsksForFiles):
                self._answer_all(connection, line)
            assert isinstance(hello, Hello)
            task = hello.task
            with self._lock:
                self._lines[task] = line
            if self._closed:
                # It had come in before the door was closed. Nobody would ever tell that task what
                # to do.
                return
            self._take(task, hello)
            while True:
                self._take(task, pickle.loads(connection.recv_bytes()))
        except (EOFError, OSError, AuthenticationError):
            pass
        except TypeError:  # what a read says whose connection another thread has closed
            if not connection.closed:
                raise
        finally:
            line.close()
            if task is not None:
                self._forget(task, line)

    def _answer_all(self, connection: Connection[Any, Any], line: _Line) -> NoReturn:
        """Answer until the other end hangs up."""
        assert self._clerk is not None
        clerk = self._clerk()
        with self._lock:
            self._asking.add(line)
        try:
            while True:
                line.send(clerk.answer(pickle.loads(connection.recv_bytes())))
        finally:
            with self._lock:
                self._asking.discard(line)
            clerk.close()

    def _forget(self, task: TaskId, line: _Line) -> None:
        """Say that a task has gone, if it was its last connection.

        Before it can be there again: in another round it would be taken for the one that has gone.
        """
        with self._lock:
            if self._lines.get(task) is line:
                del self._lines[task]
                if not self._closed:
                    self._take(task, HUNG_UP)

    def _close_door(self) -> None:
        """Let nobody wait there, either: the thread would wait on, and where another socket has the
        number of this one when the process is stopped and continued."""
        door = self._listener._listener  # type: ignore[attr-defined]
        if door is not None:  # it is not closed yet
            with suppress(OSError):
                door._socket.shutdown(socket.SHUT_RDWR)
            self._listener.close()

    def dismiss(self, patience: float) -> None:
        """Let everybody go, and hang up on who has not gone after that many seconds."""
        self._closed = True
        deadline = time.monotonic() + patience
        for line in list(self._lines.values()):
            line.takes_within(max(_AT_LEAST, deadline - time.monotonic()))
            line.send(Leave())
        while self._lines and time.monotonic() < deadline:
            time.sleep(0.005)
        with suppress(OSError):
            self._close_door()
        with self._lock:
            left = [*self._lines.values(), *self._asking]
        for line in left:
            line.hang_up()
            line.close()


class _Line:
    """A connection that several threads may send through."""

    def __init__(self, connection: Connection[Any, Any], takes_within: float | None = None):
        """`takes_within`: seconds after which it is broken if the other end takes nothing."""
        self._connection = connection
        self._lock = threading.Lock()
        self._closing = threading.Lock()
        self._patience = -1.0
        if takes_within is not None:
            self.takes_within(takes_within)

    def takes_within(self, seconds: float) -> None:
        """Wait no longer than that from now on for the other end to take something."""
        self._patience = seconds
        limit: bytes | int = int(seconds * 1000)
        if os.name != "nt":
            limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))
        with self._closing, suppress(OSError), self._socket() as own:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def send(self, message: Any) -> None:
        blob = dumps(message)
        if not self._lock.acquire(timeout=self._patience):
            self.hang_up()  # another thread waits for the other end
            return
        try:
            self._connection.send_bytes(blob)
        except (BlockingIOError, TimeoutError):
            self.hang_up()
        except OSError:
            pass  # it is gone
        except TypeError:  # another thread has closed it
            if not self._connection.closed:
                raise
        finally:
            self._lock.release()

    def hang_up(self) -> None:
        """Let nobody wait for the other end; who reads closes the connection then."""
        with self._closing, suppress(OSError), self._socket() as own:
            own.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Whoever comes second must not close what has its number by then."""
        with self._closing, suppress(OSError):
            self._connection.close()

    @contextmanager
    def _socket(self) -> Iterator[socket.socket]:
        """The connection as a socket, for as long as it is open."""
        found = socket.socket(fileno=self._connection.fileno())
        try:
            found.settimeout(None)
            yield found
        finally:
            found.detach()


def leave_process() -> None:
    """End a worker whose job is over.

    If it went on, to tell Spark that its task has come to its end, it would find nobody there and
    say so to the user.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def leave_soon() -> None:
    """Leave in any case, even if nobody listens who could close what is open first."""
    timer = threading.Timer(_GRACE, leave_process)
    timer.daemon = True
    timer.start()


class Link:
    """A task's end. What the driver says is handed to `put`, in the order it was said."""

    def __init__(self, address: Address, hello: Hello, put: Callable[[Any], None]):
        self._connection = Client((address.host, address.port), "AF_INET", authkey=address.key)
        self._line = _Line(self._connection)
        self._put = put
        self._closed = False
        self.over = threading.Event()
        """Set when the attempt is over: whatever else waits in the queue does not matter."""
        self.cut_off = threading.Event()
        """Set when Spark has hung up."""
        self.send(hello)
        threading.Thread(target=self._listen, daemon=True, name="headrace-link").start()

    def send(self, message: Any) -> None:
        self._line.send(message)

    def _listen(self) -> None:
        message: Any = None
        with suppress(EOFError, OSError, TypeError):
            while not isinstance(message, Leave):
                message = pickle.loads(self._connection.recv_bytes())
                if not isinstance(message, Leave):
                    self._put(message)
        if not self._closed:
            self.leave()

    def leave(self) -> None:
        """The attempt is over: say so to whoever reads the queue, and go in any case."""
        self.over.set()
        leave_soon()
        self._put(Leave())

    def leave_with_others(self) -> None:
        """End the process, once Spark has let go of all tasks.

        The first one that is gone makes Spark hang up on the others: nobody goes before all have
        said that they write no more.
        """
        self.close()
        self.cut_off.wait(_GRACE)
        leave_process()

    def close(self) -> None:
        self._closed = True
        self._line.close()


class Inquiries:
    """A task's way to ask the driver for something and to wait for the answer."""

    def __init__(self, address: Address):
        self._address = address
        self._connection: Connection[Any, Any] | None = None
        self._lock = threading.Lock()

    def ask(self, request: Any) -> Any:
        """The driver's answer; raises EOFError or OSError if it has hung up."""
        with self._lock:
            connection = self._connected()
            connection.send_bytes(dumps(request))
            return pickle.loads(connection.recv_bytes())

    def _connected(self) -> Connection[Any, Any]:
        if self._connection is None:
            host, port, key = self._address.host, self._address.port, self._address.key
            self._connection = Client((host, port), "AF_INET", authkey=key)
            self._connection.send_bytes(dumps(AsksForFiles()))
        return self._connection

    def close(self) -> None:
        """Let the driver know that nothing more will be asked."""
        with suppress(OSError):
            if self._connection is not None:
                self._connection.close()
