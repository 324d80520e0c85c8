"""Ports for servers on loopback."""

from __future__ import annotations

import socket

__all__ = ["free_ports"]


def free_ports(count: int) -> list[int]:
    """So many ports that nobody uses."""
    open_at_once = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in open_at_once]
    for each in open_at_once:
        each.close()
    return ports
