"""Ports for servers on loopback."""

from __future__ import annotations

import random
import socket
import sys
from pathlib import Path

__all__ = ["free_ports"]

_LOWEST = 15_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST_OF_CLIENTS = 32_768
"""Where nothing else is told; other systems begin later."""
_MARKS: list[socket.socket] = []
"""What keeps other processes from the ports of this one, as long as it lives."""


def free_ports(count: int) -> list[int]:
    """So many ports that nobody uses, and that the system gives to no client.

    A port of a client's range may be taken before the server has started, or while a test keeps it
    away; a client that asks for the server again and again may even connect to itself. Nor is
    another process given a port that this one was, as long as it lives.
    """
    end = _first_of_clients()
    candidates = range(_LOWEST, end) if end > _LOWEST + 1000 else range(end - 1000, end)
    found: list[int] = []
    for port in random.SystemRandom().sample(candidates, len(candidates)):
        if len(found) == count:
            break
        if _is_free(port) and _is_ours(port):
            found.append(port)
    return found


def _first_of_clients() -> int:
    try:
        return int(_RANGE.read_text().split()[0])
    except OSError:
        return _FIRST_OF_CLIENTS


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _is_ours(port: int) -> bool:
    """Whether no other process was given it, where there are names that end with their process."""
    if not sys.platform.startswith("linux"):
        return True
    mark = socket.socket(socket.AF_UNIX)
    try:
        mark.bind(f"\0headrace-port-{port}")
    except OSError:
        mark.close()
        return False
    _MARKS.append(mark)
    return True
