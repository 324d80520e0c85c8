"""Tasks go to the Python worker that has their slot.

Spark gives a task to any of its Python workers, while what is kept of a slot between two rounds is
in one of them. So workers that keep something hand the connection over which a task has come, with
nothing read from it, to the one that has the task's slot. To Spark it is still the worker it chose:
if that one is ended, so is whoever does its work.

Others are not concerned: as long as a worker keeps nothing, it works as Spark's own does.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import queue
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

Run = Callable[[socket.socket, bool], int]
"""Works one task off that comes over a socket, and gives what Spark calls its exit code."""

_HEAD = struct.Struct("!iii")
"""What a task's message begins with: its kind, its size, the number of its partition."""
_SEATS = 256
_SLOTS = 4096
_NOBODY = 0
_MOMENT_S, _PATIENCE_S = 0.0005, 1.0
_FOLDER = "PYTHON_WORKER_FACTORY_SOCK_DIR"


class Seats:
    """Who keeps which slot, and who is at work: in memory that all workers of a daemon share."""

    def __init__(self, folder: Path):
        """To be made before workers are forked; `folder`: for their sockets, nobody else's."""
        self._folder = folder
        numbers = memoryview(mmap.mmap(-1, 4 * (2 * _SEATS + _SLOTS))).cast("i")
        # For whom a process is at work: a number below zero as soon as it has all but done it.
        self._pids, self._at_work_for = numbers[:_SEATS], numbers[_SEATS : 2 * _SEATS]
        self._keepers = numbers[2 * _SEATS :]
        # Locks on it belong to processes: they end with them.
        self._lock_file = tempfile.TemporaryFile()  # noqa: SIM115
        self._thread_lock = threading.Lock()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._thread_lock:
            fcntl.lockf(self._lock_file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._lock_file, fcntl.LOCK_UN)

    def join(self) -> socket.socket | None:
        """Take a seat, busy for now; where connections are handed over. None: all are taken."""
        with self._locked():
            seat = self._seat_of(_NOBODY)
            if seat is None:
                return None
            place = self.place_of(os.getpid())
            place.unlink(missing_ok=True)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listening.bind(str(place))
            listening.listen(_SEATS)
            self._pids[seat] = self._at_work_for[seat] = os.getpid()
            return listening

    def keep(self, slot: int) -> None:
        """This process has what is kept of a slot, and has all but done its task."""
        seat = self._seat_of(os.getpid())
        if seat is not None and 0 <= slot < _SLOTS:
            self._keepers[slot] = os.getpid()
            self._at_work_for[seat] = -abs(self._at_work_for[seat])

    def claim(self, slot: int) -> int:
        """The process that is to do a task, busy from now on: the slot's keeper, or one at rest."""
        own = os.getpid()
        keeper = self._keepers[slot] if 0 <= slot < _SLOTS else 0
        self._await_rest(keeper)
        with self._locked():
            at_rest = self.at_rest()
            # As many tasks come at a time as there are workers: one of them is at rest.
            seats = [at_rest[pid] for pid in (keeper, own, *at_rest) if pid in at_rest]
            if not seats:
                return own
            self._at_work_for[seats[0]] = own
            return self._pids[seats[0]]

    def at_rest(self) -> dict[int, int]:
        """The processes that have nothing to do, and their seats.

        Who was to do something for one that is gone meanwhile was never told, or ends itself.
        """
        return {self._pids[seat]: seat for seat in range(_SEATS)
                if self._pids[seat] and not _is_alive(abs(self._at_work_for[seat]))}  # fmt: skip

    def _await_rest(self, pid: int) -> None:
        """Who has all but done a task will be at rest in a moment."""
        seat = self._seat_of(pid) if pid else None
        deadline = time.monotonic() + _PATIENCE_S
        while seat is not None and self._at_work_for[seat] < 0 and time.monotonic() < deadline:
            time.sleep(_MOMENT_S)

    def rest(self) -> None:
        """This process has done its task."""
        with self._locked():
            seat = self._seat_of(os.getpid())
            if seat is not None:
                self._at_work_for[seat] = _NOBODY

    def strike_out(self, pid: int) -> None:
        """A process is gone."""
        with self._locked():
            seat = self._seat_of(pid)
            if seat is not None:
                self._pids[seat] = _NOBODY
        self.place_of(pid).unlink(missing_ok=True)

    def place_of(self, pid: int) -> Path:
        return self._folder / f".{pid}.slots"

    def _seat_of(self, pid: int) -> int | None:
        return next((seat for seat in range(_SEATS) if self._pids[seat] == pid), None)


def _is_alive(pid: int) -> bool:
    if pid == _NOBODY:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@dataclass
class _Job:
    """A task to be worked off by this process, and who waits for its end."""

    connection: socket.socket
    done: Callable[[int], None]


class Routing:
    """A worker's part in it."""

    def __init__(self, seats: Seats):
        self._seats = seats
        self._listening: socket.socket | None = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()

    def keep(self, slot: int) -> None:
        """Called by a task: what it leaves behind is wanted by the next one of its slot."""
        if self._listening is None:
            self._listening = self._seats.join()
        if self._listening is not None:
            self._seats.keep(slot)

    def serve(self, connection: socket.socket, authenticated: bool, run: Run) -> int:
        """What Spark's own worker does for one task; once something is kept, for all that come."""
        if self._listening is None:
            return run(connection, authenticated)
        self._seats.rest()
        threading.Thread(target=self._route, args=(connection,), daemon=True).start()
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()
        while job := self._jobs.get():
            code = run(job.connection, True)
            self._seats.rest()
            job.done(code)
        self._seats.strike_out(os.getpid())
        return 1

    def _route(self, connection: socket.socket) -> None:
        """Send each task that Spark has for this worker to where its slot is."""
        code = 0
        while not code:
            try:
                head = connection.recv(_HEAD.size, socket.MSG_PEEK | socket.MSG_WAITALL)
            except ConnectionError:
                break
            if len(head) < _HEAD.size:
                break  # Spark has hung up
            code = self._have_done(connection, slot=_HEAD.unpack(head)[2])
        self._jobs.put(None)

    def _have_done(self, connection: socket.socket, slot: int) -> int:
        while True:
            worker = self._seats.claim(slot)
            if worker == os.getpid():
                codes: queue.SimpleQueue[int] = queue.SimpleQueue()
                self._jobs.put(_Job(connection, codes.put))
                return codes.get()
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
                try:
                    other.connect(str(self._seats.place_of(worker)))
                    socket.send_fds(other, [b"t"], [connection.fileno()])
                except OSError:
                    self._seats.strike_out(worker)
                    continue
                answer = b""
                with suppress(ConnectionError):  # it was ended before it took anything over
                    answer = other.recv(1)
            if not answer:
                # It is gone, in the middle of the task. Spark is waiting for this one.
                with suppress(OSError):  # or has hung up by now
                    connection.shutdown(socket.SHUT_RDWR)
            return answer[0] if answer else 1

    def _accept(self, listening: socket.socket) -> None:
        while True:
            other, _ = listening.accept()
            threading.Thread(target=self._take_over, args=(other,), daemon=True).start()

    def _take_over(self, other: socket.socket) -> None:
        """Do what another worker was to do, as long as that one lives."""
        with other:
            descriptors: list[int] = []
            with suppress(ConnectionError):
                _, descriptors, _, _ = socket.recv_fds(other, 1, 1)
            if not descriptors:
                return  # it was ended before it could hand anything over
            is_done = threading.Event()

            def done(code: int) -> None:
                is_done.set()
                connection.close()
                with suppress(OSError):  # it is gone by now
                    other.send(bytes([code & 0xFF]))

            connection = socket.socket(fileno=descriptors[0])
            self._jobs.put(_Job(connection, done))
            with suppress(OSError):
                other.recv(1)  # nothing ever comes: it is closed, or its process was ended
            if not is_done.is_set():
                os._exit(1)


_ROUTING: Routing | None = None


def keep_slot(slot: int) -> None:
    """Let the next task of a slot come to this process, if that can be had."""
    if _ROUTING is not None:
        _ROUTING.keep(slot)


def routed(run: Run) -> Run:
    """Spark's own way to serve a connection, with tasks that go to where their slots are.

    To be called in the daemon, before it has forked any worker.
    """
    global _ROUTING
    folder = os.environ.get(_FOLDER)
    if not (folder and os.environ.get("SPARK_REUSE_WORKER") and hasattr(socket, "send_fds")):
        return run
    routing = _ROUTING = Routing(Seats(Path(folder)))
    return lambda connection, authenticated: routing.serve(connection, authenticated, run)
