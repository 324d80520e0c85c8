"""Files are whole or not there, and a name is given to one only."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark.file_store import LocalStore


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "folder")


def test_a_file_is_not_seen_before_it_is_finished(store):
    store.write("a", b"before")
    file = store.begin("a")
    file.add(b"one ")
    file.add(b"two")
    assert store.read("a") == b"before"
    file.finish()
    file.discard()
    assert store.read("a") == b"one two"
    assert store.names() == ["a"]


def test_of_a_file_that_is_given_up_nothing_stays(store):
    file = store.begin("below/a")
    file.add(b"one")
    file.discard()
    assert store.names("below") == []


def test_a_part_of_a_file(store):
    store.write("a", b"0123456789")
    assert store.read_part("a", 2, 3) == b"234"
    assert store.read_part("a", 8, 5) == b"89"
    assert store.read_part("a", 10, 5) == b""
    with pytest.raises(FileNotFoundError):
        store.read_part("b", 0, 1)


def test_sizes_are_those_of_files_alone(store):
    assert store.sizes("") == {}
    store.write("a", b"123")
    store.write("below/b", b"")
    assert store.sizes("") == {"a": 3}
    assert store.sizes("below") == {"b": 0}
    assert store.sizes("a") == {}
