"""The splits of a task, read in real time."""

from __future__ import annotations

import socket

import pytest

from headrace.core.source import Split
from headrace.errors import SourceUnavailable
from headrace.origin import Origin
from headrace.runtime.flow.splits import Splits
from headrace.runtime.line_ranges import BLOCK, LineFiles
from headrace.runtime.socket_lines import SocketLines


def test_what_cannot_be_read_is_told_with_the_line_that_made_the_source():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else is given the port as long as this one has it
        source = SocketLines("127.0.0.1", silent.getsockname()[1])
        splits = Splits(source, Origin("job.py", 7, "env.socket_text_stream()"))
        list(splits.assign(((Split("connection"), 0),)))
        with pytest.raises(SourceUnavailable, match=r"nobody listens(.|\n)*at job.py:7"):
            splits.read()


def test_files_are_read_one_after_the_other(tmp_path):
    """Two files of one task have one time: the second one's would make the first one's late."""
    files = [tmp_path / name for name in "ab"]
    for file in files:
        file.write_text(f"{file.name * 99}\n" * (3 * BLOCK // 100))
    source = LineFiles(files, parallelism=1)
    splits = Splits(source)
    list(splits.assign(_dealt(source)))
    splits.complete()
    read = []
    while not splits.ended:
        batch = splits.read()
        if batch is not None:
            read.append(batch.values[0][0])
    assert len(read) > 2
    assert read == sorted(read)


def _one_line(tmp_path):
    file = tmp_path / "a"
    file.write_text("a\n")
    return LineFiles([file], parallelism=1)


def test_who_has_files_is_not_idle_before_it_has_read_any(tmp_path):
    """Else others' time runs ahead of it, and what it reads first is late."""
    source = _one_line(tmp_path)
    splits = Splits(source)
    assert splits.are_unknown
    list(splits.assign(_dealt(source)))
    splits.complete()
    assert splits.are_unknown
    assert splits.read() is not None
    assert not splits.are_unknown


def test_who_has_no_files_or_only_such_as_were_read_is_known_to_have_none(tmp_path):
    source = _one_line(tmp_path)
    splits = Splits(source)
    list(splits.assign(()))
    assert not splits.are_unknown
    list(splits.assign(tuple((split, split.info[2]) for split, _ in _dealt(source))))
    assert splits.are_unknown
    assert splits.read() is None
    assert not splits.are_unknown


def _dealt(source):
    enumerator = source.create_enumerator()
    return tuple((split, enumerator.initial_position(split)) for split in enumerator.splits())
