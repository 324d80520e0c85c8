"""Bounded sources read in this process."""

from __future__ import annotations

import pytest

from headrace.core.source import CollectionSpec, SocketTextSpec, SplitSpec, TextFilesSpec
from headrace.errors import SourceUnavailable, Unsupported
from headrace.memory.inputs import micro_batches
from headrace.plan.physical import Vertex
from headrace.testing import ScriptedSource


def read(spec, sizes=()):
    vertex = Vertex(1, "uid", "source", 0, 1, 128, None, source=spec)
    return [[value for batch in batches for value in batch.values]
            for batches in micro_batches(vertex, sizes)]  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((), [[1, 2, 3]]),
        ((1, 1), [[1], [2], [3]]),
        ((0, 2), [[], [1, 2], [3]]),
        ((5,), [[1, 2, 3], []]),
    ],
)
def test_a_collection_is_cut_where_asked(sizes, expected):
    assert read(CollectionSpec((1, 2, 3)), sizes) == expected


def test_files_are_read_line_by_line(tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("3\n", encoding="utf-8")
    assert read(TextFilesSpec((str(tmp_path),)), (1,)) == [["1"], ["2", "3"]]
    decoded = TextFilesSpec((str(tmp_path),), decode=lambda lines: [int(line) for line in lines])
    assert read(decoded) == [[1, 2, 3]]


def test_a_source_with_splits_decides_itself():
    assert read(SplitSpec(ScriptedSource([[1], [], [2, 3]]))) == [[1], [], [2, 3]]


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(SourceUnavailable, match="No such file"):
        read(TextFilesSpec((str(tmp_path / "none"),)))


def test_an_endless_source_is_refused():
    with pytest.raises(Unsupported, match="never ends"):
        read(SocketTextSpec("localhost", 1))
