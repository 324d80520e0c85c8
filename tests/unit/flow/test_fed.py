"""Sources that Spark reads for tasks that flow: pieces, positions inside of files, who counts."""

from __future__ import annotations

import threading
from itertools import count
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headrace.core.logical_types import BIGINT
from headrace.core.source import FrameSpec, OnDriver, Split
from headrace.errors import SourceUnavailable
from headrace.origin import Origin
from headrace.runtime.flow.fed import FedSource
from headrace.runtime.flow.messages import (
    Assign,
    BeginsReading,
    Feed,
    HandsOver,
    Leave,
    Piece,
    Refused,
    TaskId,
    WantedRows,
)
from headrace.runtime.flow.splits import Splits, is_within, records_within
from headrace.spark.flow.channel import Address
from headrace.spark.flow.feeding import Around, SourceFeed, _as_stream, _pieces
from headrace.spark.flow.frames import rows_by_split

TASK = TaskId(0, 0)


def source(*, by_files: bool = True, ends: bool = True) -> FedSource:
    return FedSource(FrameSpec(OnDriver(), (BIGINT,), ends=ends, by_files=by_files))


def batch(*numbers: int, file: str | None = None) -> pa.RecordBatch:
    columns = {"n": pa.array(numbers, pa.int64())}
    if file is not None:
        columns["_file"] = pa.array([file] * len(numbers))
    return pa.RecordBatch.from_pydict(columns)


def piece(*numbers: int, split: str = "a") -> Feed:
    return Feed(split, _as_stream(batch(*numbers)))


def numbers_of(splits: Splits) -> list[int]:
    found: list[int] = []
    while (read := splits.read()) is not None:
        found += [n for _, n in read.values]
    return found


def reading(at: Any = 0, **kind: bool) -> Splits:
    splits = Splits(source(**kind))
    list(splits.assign(((Split("a"), at),)))
    splits.complete()
    return splits


# What a task does with pieces.


def test_a_checkpoint_may_be_inside_of_a_file():
    splits = reading()
    assert splits.read() is None
    assert splits.positions() == {"a": (None, 0)}
    splits.feed(piece(1, 2, 3))
    assert numbers_of(splits) == [1, 2, 3]
    inside = splits.positions()["a"][1]
    assert is_within(inside)
    assert records_within(inside) == 3
    again = reading(inside)
    again.feed(piece(4))  # who reads leaves out what was read before
    assert numbers_of(again) == [4]
    assert records_within(again.positions()["a"][1]) == 4
    again.feed(Feed("a", is_last=True))
    assert not again.ended
    assert numbers_of(again) == []
    assert again.ended
    assert again.positions() == {"a": (None, 1)}


def test_a_file_that_was_read_is_at_its_end():
    splits = reading(1)
    assert splits.read() is None
    assert splits.ended


def test_in_a_table_there_is_no_place_to_stop_at():
    splits = reading(by_files=False)
    splits.feed(piece(1))
    assert not splits.must_go_on
    numbers_of(splits)
    assert splits.must_go_on
    splits.feed(Feed("a", is_last=True))
    numbers_of(splits)
    assert not splits.must_go_on
    files = reading()
    files.feed(piece(1))
    numbers_of(files)
    assert not files.must_go_on


def test_whoever_hands_over_is_told_when_a_piece_was_taken():
    splits, taken = reading(), []
    splits.on_taken(taken.append)
    splits.feed(piece(1))
    splits.feed(piece(2))
    assert taken == []
    numbers_of(splits)
    assert taken == ["a", "a"]


# What is handed over.


def test_rows_of_several_files_go_on_behind_those_that_were_read():
    whole = pa.Table.from_batches(
        [batch(1, 2, file="file:///x/a%20b"), batch(7, file="file:/c"), batch(3, file="/x/a b")]
    ).combine_chunks()
    found = [
        (split, rows.column(0).to_pylist())
        for split, rows in rows_by_split(iter(whole.to_batches()), {"/x/a b": 1, "/c": 1})
    ]
    assert found == [("/x/a b", [2]), ("/x/a b", [3])]
    skipped = rows_by_split(iter([batch(1, 2, file="/a"), batch(3, file="/a")]), {"/a": 2})
    assert [rows.column(0).to_pylist() for _, rows in skipped] == [[3]]


def test_pieces_are_small():
    wide = pa.RecordBatch.from_pydict({"t": ["x" * (1 << 20)] * 10})
    assert [part.num_rows for part in _pieces(wide)] == [3, 3, 3, 1]
    assert sum(part.num_rows for part in _pieces(batch(*range(20_000)))) == 20_000


class Frames:
    """Has files, and lets somebody else say when they were read."""

    def __init__(self, *files: str):
        self.files = list(files)
        self.vertex = SimpleNamespace(name="orders", origin=Origin("job.py", 7, "execute_sql()"))
        self.was_read = threading.Event()
        self.begun = threading.Event()
        self.spark = SimpleNamespace(
            sparkContext=SimpleNamespace(
                setJobGroup=lambda *a, **k: None, cancelJobGroup=lambda *a: self.was_read.set()
            )
        )

    def splits(self) -> list[str]:
        return self.files

    def ordered_rows(self, splits: list[str]) -> Any:
        def save() -> None:
            self.begun.set()
            self.was_read.wait(120)

        written = SimpleNamespace(mode=lambda mode: SimpleNamespace(save=save))
        frame = SimpleNamespace(write=SimpleNamespace(format=lambda name: written))
        return SimpleNamespace(mapInArrow=lambda *a: frame)


@pytest.fixture
def fed() -> Any:
    """Makes a feed whose task has been given its files, and which Spark reads."""
    made: list[SourceFeed] = []

    def make(*splits: tuple[str, Any], **kind: bool) -> tuple[SourceFeed, Frames, list[Any]]:
        frames, sent = Frames(*(split for split, _ in splits)), []
        around = Around(
            Address("", 0, b""), lambda task, word: sent.append(word), lambda: None, sent.append
        )
        feed = SourceFeed(frames, source(**kind), around, count(1), "group")  # type: ignore[arg-type]
        made.append(feed)
        feed.assigned(TASK, Assign(tuple((Split(split), at) for split, at in splits)))
        assert frames.begun.wait(60)
        return feed, frames, sent

    yield make
    for feed in made:
        feed.close()


def hands_over(feed: SourceFeed, reader: int, split: str = "a", rows: int = 1) -> Any:
    return feed.answer(HandsOver(feed.reading, reader, split, rows, b"rows"))


def test_a_file_is_read_behind_what_a_checkpoint_knows(fed):
    inside = {"~within": [0, 1, 5]}
    feed, frames, sent = fed(("a", inside), ("b", 0), ("read", 1))
    assert feed.answer(BeginsReading(feed.reading)) == WantedRows(1, {"a": 5})
    assert hands_over(feed, 1, rows=2) == Piece()
    frames.was_read.set()
    while len(sent) < 3:
        threading.Event().wait(0.01)
    assert sent == [Feed("a", b"rows"), Feed("a", is_last=True), Feed("b", is_last=True)]


def test_a_reader_that_spark_begins_again_hands_over_the_rest_and_the_first_one_leaves(fed):
    feed, _, sent = fed(("a", 0))
    feed.answer(BeginsReading(feed.reading))
    assert hands_over(feed, 1, rows=2) == Piece()
    assert feed.answer(BeginsReading(feed.reading)) == WantedRows(2, {"a": 2})
    assert hands_over(feed, 1) == Leave()
    assert hands_over(feed, 2) == Piece()
    assert len(sent) == 2
    assert feed.answer(BeginsReading(feed.reading - 1)) == Leave()


def test_a_table_is_not_begun_again_once_rows_of_it_were_handed_over(fed):
    feed, _, _ = fed(("all", 0), by_files=False)
    assert feed.answer(BeginsReading(feed.reading)) == WantedRows(1, {})
    assert feed.answer(BeginsReading(feed.reading)) == WantedRows(2, {})
    hands_over(feed, 2, "all")
    refused = feed.answer(BeginsReading(feed.reading))
    assert isinstance(refused, Refused)
    assert "'orders': Spark has lost a task that read it" in refused.reason


def test_nothing_more_comes_before_a_task_has_room(fed):
    feed, _, sent = fed(("a", 0))
    feed.answer(BeginsReading(feed.reading))
    answers: list[Any] = []
    for _ in range(2):
        hands_over(feed, 1)
    third = threading.Thread(target=lambda: answers.append(hands_over(feed, 1)))
    third.start()
    third.join(0.1)
    assert answers == []
    feed.took_piece(TASK)
    third.join(60)
    assert answers == [Piece()]
    assert len(sent) == 3
    fourth = threading.Thread(target=lambda: answers.append(hands_over(feed, 1)))
    fourth.start()
    feed.close()
    fourth.join(60)
    assert answers == [Piece(), Leave()]


def test_what_spark_cannot_find_is_told_with_the_line_that_made_the_source():
    frames = Frames()

    def missing() -> list[str]:
        raise SourceUnavailable("there is no folder")

    frames.splits = missing  # type: ignore[method-assign]
    with pytest.raises(SourceUnavailable, match=r"at job\.py:7"):
        SourceFeed(frames, source(), None, count(1), "group")  # type: ignore[arg-type]
