"""Ports that servers of tests are given."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from headrace.testing.servers import ports as ports_module
from headrace.testing.servers.ports import free_ports


def test_ports_differ_and_are_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_no_client_is_given_the_port_of_a_server_that_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = server.getsockname()[1]
    assert all(port < given for port in free_ports(50))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there it can be seen")
def test_a_port_is_given_once_even_to_other_processes_and_while_its_server_is_away() -> None:
    (port,) = free_ports(1)
    assert not ports_module._is_ours(port)
    ask = (
        f"import runpy, sys; ports = runpy.run_path({ports_module.__file__!r}); "
        f"sys.exit(ports['_is_free']({port}) and ports['_is_ours']({port}))"
    )
    assert subprocess.run([sys.executable, "-c", ask]).returncode == 0
    ports_module._MARKS.pop().close()
    assert subprocess.run([sys.executable, "-c", ask]).returncode == 1
