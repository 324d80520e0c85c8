"""Workers as Spark's daemon forks them, without Spark: what is asked of them, and who answers.

python -m tests.unit.spark.routed_workers <folder>

Each line of standard input is a command, each line of output its answer.

    fork                 a worker; its number
    send <n> <slot> <s>  a task for a slot over the connection of worker n, which takes s seconds,
                         or with less than none kills its process; `inf`: until it is let go
    let_go <n>           worker n ends the task it does
    answer <n>           which worker has done it, "gone", or "nothing" if there is none for long
    until_at_work <n>    when a worker does a task, its own or another's
    until_asked <n>      when another has asked it for something, or it has a task of its own
    until_at_rest <n>    when it has none
    stop <n>             it stands still
    kill <n>, hang_up <n>, is_alive <n>
"""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from headrace.spark import slot_routing
from headrace.spark.slot_routing import Routing, Seats

HEAD = struct.Struct("!iiid")
"""As Spark's, and how long the task takes."""
PATIENCE = 60
slot_routing._PATIENCE_S = PATIENCE  # for who has all but done a task, however busy the machine is


def at_work(pid: int) -> Path:
    return Path(sys.argv[1]) / f"{pid}.at-work"


def let_go(pid: int) -> Path:
    return Path(sys.argv[1]) / f"{pid}.let-go"


def wait_until(holds: Callable[[], bool]) -> bool:
    """Whether something comes true before patience ends."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def run(routing: Routing, connection: socket.socket) -> int:
    """What a worker does with a task: here it tells who it is, and keeps the slot."""
    *_, slot, seconds = HEAD.unpack(connection.recv(HEAD.size, socket.MSG_WAITALL))
    at_work(os.getpid()).touch()
    if seconds < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if seconds == math.inf:
        wait_until(let_go(os.getpid()).exists)
    else:
        time.sleep(seconds)
    at_work(os.getpid()).unlink()
    if slot < 0:
        return 1
    routing.keep(slot)
    connection.send(struct.pack("!i", os.getpid()))
    return 0


def work(seats: Seats, connection: socket.socket) -> None:
    routing = Routing(seats)
    while not routing.serve(connection, True, lambda sock, _: run(routing, sock)):
        pass
    os._exit(0)


class Spark:
    """Its side of the connections."""

    def __init__(self, folder: Path):
        self._seats = Seats(folder)
        self._pids: list[int] = []
        self._connections: list[socket.socket] = []

    def fork(self) -> int:
        own, its = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            for connection in (own, *self._connections):
                connection.close()
            work(self._seats, its)
        its.close()
        self._pids.append(pid)
        self._connections.append(own)
        return len(self._pids) - 1

    def send(self, worker: str, slot: str, seconds: str = "0") -> str:
        self._connections[int(worker)].sendall(HEAD.pack(-1, 0, int(slot), float(seconds)))
        return "sent"

    def answer(self, worker: str) -> object:
        connection = self._connections[int(worker)]
        if not select.select([connection], [], [], PATIENCE)[0]:
            return "nothing"
        try:
            said = connection.recv(4, socket.MSG_WAITALL)
        except ConnectionResetError:  # the worker had not read the task when it hung up
            said = b""
        return self._pids.index(struct.unpack("!i", said)[0]) if said else "gone"

    def until_at_work(self, worker: str) -> bool:
        return wait_until(at_work(self._pids[int(worker)]).exists)

    def until_asked(self, worker: str) -> bool:
        return wait_until(lambda: self._pids[int(worker)] not in self._seats.at_rest())

    def until_at_rest(self, worker: str) -> bool:
        return wait_until(lambda: self._pids[int(worker)] in self._seats.at_rest())

    def let_go(self, worker: str) -> str:
        let_go(self._pids[int(worker)]).touch()
        return "let go"

    def stop(self, worker: str) -> str:
        os.kill(self._pids[int(worker)], signal.SIGSTOP)
        return "stopped"

    def kill(self, worker: str) -> str:
        os.kill(self._pids[int(worker)], signal.SIGKILL)
        os.waitpid(self._pids[int(worker)], 0)
        return "killed"

    def hang_up(self, worker: str) -> str:
        self._connections[int(worker)].close()
        return "hung up"

    def is_alive(self, worker: str) -> bool:
        return not wait_until(lambda: os.waitpid(self._pids[int(worker)], os.WNOHANG)[0] != 0)


def main() -> None:
    spark = Spark(Path(sys.argv[1]))
    for line in sys.stdin:
        command, *words = line.split()
        print(getattr(spark, command)(*words), flush=True)


if __name__ == "__main__":
    main()
