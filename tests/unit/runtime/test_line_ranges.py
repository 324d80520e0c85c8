"""Lines of local files, read in ranges."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.runtime import line_ranges
from headrace.runtime.line_ranges import LineFiles, local_files, ranges_of, read_range


def read_all(files: list[Path], parallelism: int) -> list[str]:
    ranges = ranges_of(files, parallelism)
    return [line for one in ranges for lines in read_range(*one) for line in lines]


@settings(suppress_health_check=list(HealthCheck))
@given(
    lines=st.lists(st.text(alphabet="ab,é€", max_size=12), max_size=40),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    closed=st.booleans(),
    block=st.integers(1, 30),
    parallelism=st.integers(1, 5),
)
def test_every_line_is_read_once_wherever_ranges_are_cut(
    tmp_path, lines, end, closed, block, parallelism
):
    """Ranges and blocks of a few bytes cut through lines, characters and line ends."""
    if end == "\r":
        block = 1 << 20  # a file of lone carriage returns has no ends to cut at
    text = end.join(lines) + (end if closed and lines else "")
    expected = text.replace(end, "\n").split("\n")
    if not expected[-1]:
        expected.pop()
    file = tmp_path / "lines.txt"
    file.write_bytes(text.encode())
    with patch.object(line_ranges, "BLOCK", block), patch.object(line_ranges, "LARGEST_RANGE", 64):
        assert read_all([file], parallelism) == expected


def test_text_that_is_no_utf8_keeps_what_can_be_read(tmp_path):
    file = tmp_path / "odd.txt"
    file.write_bytes(b"good\nb\xffd\n")
    assert read_all([file], 2) == ["good", "b\ufffdd"]


def test_folders_are_read_whole_but_for_hidden_files(tmp_path):
    for name in ("b.txt", "a.txt", ".hidden", "_temporary", "deep/c.txt", "_deep/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    found = local_files((f"file://{tmp_path}",))
    assert found is not None
    assert read_all(found, 1) == ["a.txt", "b.txt", "deep/c.txt"]


def test_what_spark_must_open_is_left_to_spark(tmp_path):
    (tmp_path / "packed.gz").write_bytes(b"")
    assert local_files((str(tmp_path),)) is None
    assert local_files(("hdfs://host/path",)) is None
    assert local_files((f"{tmp_path}/*.txt",)) is None
    assert local_files((f"{tmp_path}/missing",)) is None


def test_files_as_a_source_with_positions(tmp_path):
    """Files are taken a few at a time, each whole; a position says which were read."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(f"{name}1\n{name}2\n")
    source = LineFiles(sorted(tmp_path.iterdir()), 2, files_per_batch=2, decode=lambda x: x)
    enumerator, reader = source.create_enumerator(), source.create_reader()
    positions = {split.id: enumerator.initial_position(split) for split in enumerator.splits()}
    batches = []
    for _ in range(3):
        batch = []
        for split in enumerator.splits():
            start = positions[split.id]
            end = positions[split.id] = enumerator.latest_position(split, start)
            batch += list(reader.read(split, start, end)) if end != start else []
        batches.append(batch)
    assert batches == [["a1", "a2", "b1", "b2"], ["c1", "c2"], []]
