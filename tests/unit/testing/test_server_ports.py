"""Ports that servers of tests are given."""

from __future__ import annotations

import socket

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
