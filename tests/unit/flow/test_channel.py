"""Only tasks of the job are listened to."""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from dataclasses import replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client

import pytest

from headrace.runtime.flow.messages import Hello, Ready, TaskId, Told, Trigger
from headrace.spark.flow.channel import HUNG_UP, Link, Server

TASK = TaskId(1, 0)


@pytest.fixture
def heard():
    return queue.Queue()


@pytest.fixture
def server(heard, request):
    """With a parameter: so many seconds a task may take nothing of what it is told."""
    patience = {"takes_within": request.param} if hasattr(request, "param") else {}
    made = Server("127.0.0.1", lambda task, message: heard.put((task, message)), **patience)
    yield made
    made.dismiss(0)


def test_words_in_both_directions(server, heard):
    told = queue.Queue()
    link = Link(server.address, Hello(TASK), told.put)
    assert heard.get(timeout=60) == (TASK, Hello(TASK))
    link.send(Ready(TASK))
    assert heard.get(timeout=60) == (TASK, Ready(TASK))
    server.send(TASK, Trigger(7))
    assert told.get(timeout=60) == Trigger(7)
    link.close()


def test_whoever_does_not_know_the_key_is_not_heard(server, heard):
    stranger = replace(server.address, key=b"guess")
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        Link(stranger, Hello(TASK), lambda message: None)
    assert heard.empty()


def test_nothing_is_unpickled_before(server, heard):
    address = server.address
    with suppress(OSError, EOFError):
        connection = Client((address.host, address.port), "AF_INET")
        connection.send(Hello(TASK))
        connection.recv_bytes()
        connection.close()
    with pytest.raises(queue.Empty):
        heard.get(timeout=0.2)


def test_a_task_that_says_its_name_when_all_is_over_does_not_wait(server, heard):
    address = server.address
    with Client((address.host, address.port), "AF_INET", authkey=address.key) as line:
        server.dismiss(0)
        line.send(Hello(TASK))
        assert line.poll(60)
        with pytest.raises((EOFError, OSError)):
            line.recv()
    assert heard.empty()


def test_nobody_waits_for_calls_when_all_is_over(server):
    assert server._door.is_alive()
    server.dismiss(0)
    server._door.join(60)
    assert not server._door.is_alive()


@pytest.fixture
def deaf(server):
    """A task that stands still: it reads nothing."""
    address = server.address
    with Client((address.host, address.port), "AF_INET", authkey=address.key) as line:
        line.send(Hello(TASK))
        yield line


MORE_THAN_WAITS_ANYWHERE = Told(TASK, ((0, 0, "print", b"x" * 50_000_000),))


@pytest.mark.parametrize("server", [0.1], indirect=True)
def test_a_task_that_takes_nothing_counts_as_gone(server, heard, deaf):
    assert heard.get(timeout=60) == (TASK, Hello(TASK))
    server.send(TASK, MORE_THAN_WAITS_ANYWHERE)
    assert heard.get(timeout=60) == (TASK, HUNG_UP)
    server.send(TASK, Trigger(1))  # nobody is there


def test_nobody_waits_for_a_task_that_takes_nothing_when_all_is_over(server, heard, deaf):
    assert heard.get(timeout=60) == (TASK, Hello(TASK))
    waiting = threading.Thread(target=server.send, args=(TASK, MORE_THAN_WAITS_ANYWHERE))
    waiting.start()
    server.dismiss(0.1)
    waiting.join(60)
    assert not waiting.is_alive()
