"""State that only the driver can write: tasks hand their files to it, and wait until they last."""

from __future__ import annotations

import io
import queue
import threading
from contextlib import closing
from dataclasses import replace
from functools import partial
from multiprocessing import AuthenticationError
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import JobFailed
from headrace.runtime.flow.messages import Hello, Ready, TaskId, WritePiece
from headrace.spark.file_store import LocalStore
from headrace.spark.flow import state_files
from headrace.spark.flow.channel import Inquiries, Link, Server
from headrace.spark.flow.state_files import DriverFiles, FileClerk, mounted_at
from tests.spark.conftest import wait_until

NAME = "3-1-0-7"
PIECE = 10


class Savepoint:
    """One with a single file."""

    content = bytes(range(100))
    asked: list[int]

    def __init__(self) -> None:
        self.asked = []

    def read_part(self, name: str, start: int, size: int) -> bytes:
        if name != "state/op/count/part-0.parquet":
            raise FileNotFoundError(name)
        self.asked.append(size)
        return self.content[start : start + size]


class Stubborn(LocalStore):
    """A folder that lets nobody write until it is told to."""

    def __init__(self, path: Path):
        super().__init__(path)
        self.may_write = threading.Event()
        self.asked: queue.Queue[str] = queue.Queue()

    def begin(self, name: str) -> Any:
        self.asked.put(name)
        self.may_write.wait(120)
        return super().begin(name)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(state_files, "_PIECE", PIECE)


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "run/state")


@pytest.fixture
def heard():
    return queue.Queue()


@pytest.fixture
def serve(heard):
    """Makes a driver that keeps state in a folder; its address."""
    servers: list[Server] = []

    def begin(store: LocalStore, savepoint: Savepoint | None = None) -> Any:
        servers.append(
            Server(
                "127.0.0.1",
                lambda task, message: heard.put(message),
                partial(FileClerk, store, savepoint),
            )
        )
        return servers[-1].address

    yield begin
    for server in servers:
        server.dismiss(0)


@pytest.fixture
def files(serve, store):
    with closing(DriverFiles(serve(store))) as made:
        yield made


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7])
def test_a_file_is_there_when_it_was_written_and_is_read_as_it_was(files, store, size):
    content = bytes(number % 251 for number in range(size))
    files.write(NAME, content)
    assert store.read(NAME) == content
    assert files.read(NAME) == content


@pytest.mark.parametrize("name", [NAME, f"{NAME}-12", f"{NAME}-in-flight"])
def test_every_file_that_a_task_writes_has_a_name_that_is_taken(files, store, name):
    files.write(name, b"x")
    assert store.names() == [name]


def test_a_file_that_is_written_again_is_replaced(files, store):
    files.write(NAME, b"a" * 35)
    files.write(NAME, b"b")
    assert files.read(NAME) == b"b"
    assert store.names() == [NAME]


@pytest.mark.parametrize(
    "name",
    ["../3-1-0-7", "/tmp/3-1-0-7", "3-1-0-7/../../x", "3-1-0-7-..", "plan.json", "", ".", "3-1"],
)
def test_no_name_leads_out_of_the_folder(files, store, tmp_path, name):
    with pytest.raises(JobFailed, match="is no file of state"):
        files.write(name, b"x")
    with pytest.raises(JobFailed, match="is no file of state"):
        files.read(name)
    assert not any(tmp_path.iterdir())


def test_a_missing_file_is_named(files):
    with pytest.raises(FileNotFoundError, match=NAME):
        files.read(NAME)


def test_what_cannot_be_written_is_told_and_the_next_file_can(files, store):
    store.path.parent.mkdir()
    store.path.write_text("a file where the folder should be")
    with pytest.raises(JobFailed) as failed:
        files.write(NAME, b"x" * 25)
    assert failed.value.message.startswith(f"state of the job cannot be written to {store.uri}: ")
    assert "Is there space" in (failed.value.hint or "")
    store.path.unlink()
    files.write(NAME, b"y")
    assert store.read(NAME) == b"y"


def test_of_a_task_that_dies_while_it_writes_nothing_is_left(serve, store):
    inquiries = Inquiries(serve(store))
    inquiries.ask(WritePiece(NAME, b"half of it", is_last=False))
    [unfinished] = store.names()
    assert unfinished.startswith(".")
    inquiries.close()
    wait_until(lambda: not store.names())


def test_nothing_else_waits_for_a_file_that_takes_long(serve, heard, tmp_path):
    store = Stubborn(tmp_path)
    address = serve(store)
    link = Link(address, Hello(TaskId(1, 0)), lambda message: None)
    writers = [
        threading.Thread(target=DriverFiles(address).write, args=(f"3-1-{task}-7", b"x" * 25))
        for task in range(2)
    ]
    for writer in writers:
        writer.start()
    # Both are being written at the same time, and what a task says is heard meanwhile.
    assert {store.asked.get(timeout=60) for _ in writers} == {"3-1-0-7", "3-1-1-7"}
    link.send(Ready(TaskId(1, 0)))
    assert [type(heard.get(timeout=60)) for _ in range(2)] == [Hello, Ready]
    assert all(writer.is_alive() for writer in writers)
    store.may_write.set()
    for writer in writers:
        writer.join(60)
    assert store.names() == ["3-1-0-7", "3-1-1-7"]
    link.close()


def test_whoever_does_not_know_the_key_gets_no_file(serve, store):
    store.write(NAME, b"secret")
    stranger = DriverFiles(replace(serve(store), key=b"guess"))
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        stranger.read(NAME)


def test_who_asks_for_files_is_no_task_that_could_be_lost(serve, heard, store):
    files = DriverFiles(serve(store))
    files.write(NAME, b"x")
    files.close()
    with pytest.raises(queue.Empty):
        heard.get(timeout=0.2)


def test_any_part_of_a_savepoint_can_be_read(serve, store):
    savepoint = Savepoint()
    files = DriverFiles(serve(store, savepoint))
    file = files.open_saved("state/op/count/part-0.parquet", 100)
    assert file.read(25) == savepoint.content[:25]
    assert savepoint.asked == [10, 10, 5]
    assert file.seek(-8, io.SEEK_END) == file.tell() == 92
    assert file.read(50) == savepoint.content[92:]
    assert file.read(1) == b""
    file.seek(10)
    file.seek(5, io.SEEK_CUR)
    assert file.read() == savepoint.content[15:]


def test_only_files_of_the_savepoint_can_be_read(serve, store):
    for savepoint in (None, Savepoint()):
        files = DriverFiles(serve(store, savepoint))
        with pytest.raises(FileNotFoundError):
            files.open_saved("../../secret", 10).read(1)


def test_a_mounted_folder_is_written_to_directly(tmp_path):
    mounted = mounted_at(LocalStore(tmp_path))
    assert mounted == tmp_path
    nobody = DriverFiles(None)  # type: ignore[arg-type]
    nobody.state_files(mounted).write(NAME, b"x")
    assert (tmp_path / NAME).read_bytes() == b"x"
    assert nobody.state_files(None) is nobody
