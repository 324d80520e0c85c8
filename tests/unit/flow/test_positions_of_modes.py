"""Whoever goes on from a position reads what was not read, in whichever mode it was read before."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.data_generator import DataGeneratorSource
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.runtime import source_task
from headrace.runtime.flow.assignment import Assignment
from headrace.runtime.flow.messages import Assign
from headrace.runtime.flow.splits import Splits, is_within
from headrace.runtime.line_ranges import WatchedLines
from headrace.spark.flow.attempt import splits_of
from tests.unit.flow.rounds_of_sources import (
    read_rounds,
    split_rounds,
    tasks_of_source,
    vertex_of,
)

SIZE = 50


class Named(Source[Any]):
    """Two splits of numbers, of which the enumerator names those it is told to."""

    def __init__(self, *, counted: bool, names: tuple[str, ...] = ("a", "b")):
        self.counted = counted
        self.names = names

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _Enumerator(self)

    def create_reader(self) -> SplitReader[Any]:
        return _Reader()


class _Enumerator(SplitEnumerator):
    def __init__(self, source: Named):
        self._source = source
        self.positions_count_records = source.counted

    def splits(self) -> list[Split]:
        return [Split(name, {"of": name}) for name in self._source.names]

    def latest_position(self, split: Split, start: Any) -> Any:
        return min(start + 20, SIZE)


class _Reader(SplitReader[Any]):
    def read(self, split: Split, start: Any, end: Any) -> Any:
        return [f"{split.info['of']}{number}" for number in range(start, end)]


ALL = sorted(f"{name}{number}" for name in "ab" for number in range(SIZE))


def flow(
    source: Source[Any], saved: dict[str, Any], reads: int | None
) -> tuple[list[Any], dict[str, Any]]:
    """Read in real time, so many times or to the end; the records, and the positions."""
    splits = Splits(source)
    [task] = tasks_of_source(1)
    assignment = Assignment(vertex_of(source), [task])
    words = assignment.discover(saved).get(task, [])
    for word in words:
        if isinstance(word, Assign):
            list(splits.assign(word.splits))
    found: list[Any] = []
    while reads is None or reads > 0:
        batch = splits.read()
        if batch is None:
            break
        found += batch.values
        reads = None if reads is None else reads - 1
    return found, json.loads(json.dumps({id: list(at) for id, at in splits.positions().items()}))


@pytest.fixture(autouse=True)
def few_at_a_time(monkeypatch):
    monkeypatch.setattr(source_task, "READ_AT_ONCE", 7)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("reads", range(10))
def test_what_was_read_in_part_in_real_time_is_read_on_in_rounds(counted, reads):
    source = Named(counted=counted)
    first, positions = flow(source, {}, reads)
    rest = read_rounds(source, split_rounds(source, 2, positions))
    assert sorted([*first, *(record for each in rest for record in each)]) == ALL


def test_a_position_inside_of_a_range_is_one_that_cannot_be_counted():
    _, positions = flow(Named(counted=False), {}, 1)
    assert is_within(positions["a"][1])
    _, positions = flow(Named(counted=True), {}, 1)
    assert positions["a"][1] == 7


@pytest.mark.parametrize("rounds", range(4))
def test_what_was_read_in_rounds_is_read_on_in_real_time(rounds):
    source = Named(counted=True)
    driver = split_rounds(source, 2)
    first = []
    for _ in range(rounds):
        driver.has_news(())
        portions = driver.hand_over(15, ())
        reader = source.create_reader()
        first += [
            record
            for portion in portions.values()
            for each in portion.ranges
            for record in reader.read(each.split, each.start, each.end)
        ]
    rest, _ = flow(source, json.loads(json.dumps(driver.positions())), None)
    assert sorted([*first, *rest]) == ALL


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_however_often_the_mode_changes_each_record_comes_once(counted, seed):
    chance = random.Random(seed)
    source = Named(counted=counted)
    positions: dict[str, Any] = {}
    found: list[Any] = []
    while len(found) < len(ALL):
        if chance.random() < 0.5:
            some, positions = flow(source, positions, chance.randrange(4))
            found += some
        else:
            driver = split_rounds(source, 2, positions)
            for portion in driver.hand_over(chance.choice([None, 5]), ()).values():
                for each in portion.ranges:
                    records = source.create_reader().read(each.split, each.start, each.end)
                    found += records[each.skip :]
            positions = json.loads(json.dumps(driver.positions()))
    assert sorted(found) == ALL


def test_a_range_that_was_begun_is_read_to_its_end_even_if_nobody_names_its_split_any_more():
    source = Named(counted=False)
    first, positions = flow(source, {}, 2)  # one part of each
    source.names = ("b",)
    rest = read_rounds(source, split_rounds(source, 2, positions))
    assert sorted([*first, *(record for each in rest for record in each)]) == sorted(
        [f"a{number}" for number in range(20)] + [f"b{number}" for number in range(SIZE)]
    )


class TestSavepointsThatListFiles:
    """As micro-batches once wrote them."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name in ("old", "o l%d"):
            (tmp_path / name).write_text("read before\n")
        (tmp_path / "new").write_text("first\nsecond\n")
        return tmp_path

    @pytest.fixture
    def saved(self, folder: Path) -> dict[str, Any]:
        uris = [f"file://{folder}/old", f"file:{folder}/o%20l%25d", f"file://{folder}/gone"]
        return splits_of({"files": uris})

    def test_rounds_read_the_others(self, folder, saved):
        source = WatchedLines(str(folder))
        assert read_rounds(source, split_rounds(source, 1, saved)) == [["first", "second"]]

    def test_real_time_reads_the_others(self, folder, saved):
        assert flow(WatchedLines(str(folder)), saved, None)[0] == ["first", "second"]

    def test_splits_are_what_they_are(self):
        assert splits_of({"splits": {"a": [None, 4]}}) == {"a": [None, 4]}
        assert splits_of({}) == {}


def test_within_what_a_paced_generator_has_given(monkeypatch):
    """Its positions count records, and are no numbers."""
    monkeypatch.setattr(source_task, "READ_AT_ONCE", 10)
    source = DataGeneratorSource(lambda number: number, records_per_second=1e9)
    splits, enumerator = Splits(source), source.create_enumerator()
    split = enumerator.splits()[0]
    begun = {"next": 0, "since": 0}
    list(splits.assign(((split, begun),)))
    first = splits.read()
    assert first is not None
    _, position = splits.positions()[split.id]
    assert position == {"next": len(first.values), "since": 0}


def test_a_task_that_reads_nothing_is_told_so():
    """Until then it does not know whether it is idle."""
    source = Named(counted=True, names=("a",))
    first, second = tasks_of_source(2)
    words = Assignment(vertex_of(source), [first, second]).discover({})
    assert [len(word.splits) for word in words[first]] == [1]
    assert words[second] == [Assign(())]


def test_splits_of_a_checkpoint_are_read_in_the_order_of_the_source():
    """A task reads files one after the other: read in another order, earlier ones would be late."""
    source = Named(counted=True, names=("a", "b", "c", "d"))
    tasks = first, second = tasks_of_source(2)
    saved = {name: [{"of": name}, 0] for name in "acbd"}
    words = Assignment(vertex_of(source), list(tasks)).discover({**saved, "gone": [{"of": "z"}, 0]})
    named = {task: [split.id for split, _ in words[task][0].splits] for task in tasks}
    assert named == {first: ["gone", "b", "d"], second: ["a", "c"]}
