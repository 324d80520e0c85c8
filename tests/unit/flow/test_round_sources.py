"""What sources hand over round by round, and to whom."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import pytest

from headrace.core.source import (
    Boundedness,
    LiveReader,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
)
from headrace.runtime.flow import round_sources
from headrace.runtime.flow.messages import Range, TaskId
from headrace.runtime.flow.round_sources import Portion
from tests.unit.flow.rounds_of_sources import Portions, live_rounds, read_rounds, split_rounds

FIRST, SECOND = TaskId(0, 0), TaskId(0, 1)


class Splits(Source[Any], SplitEnumerator):
    """A source whose splits have what a test says."""

    positions_count_records = True

    def __init__(self, available: dict[str, Any], *, bounded: bool = False, come_and_go=False):
        self.available = available
        self.bounded = bounded
        self.splits_end = come_and_go
        self.complete = True
        self.shared = False
        self.closed = False

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return self

    def create_reader(self) -> SplitReader[Any]:
        return _Numbers()

    def splits(self) -> list[Split]:
        return [Split(id, {"is": id}) for id in self.available]

    def latest_position(self, split: Split, start: Any) -> Any:
        return self.available[split.id]

    def is_at_end(self, split: Split, position: Any) -> bool:
        return self.complete and bool(position == self.available[split.id])

    def is_over(self, split: Split, position: Any) -> bool:
        return self.splits_end and bool(position == self.available[split.id])

    def cuts(self, split: Split, start: Any, end: Any) -> list[Any]:
        return list(range(start + 2, end, 2)) if self.shared else []

    def close(self) -> None:
        self.closed = True


class _Numbers(SplitReader[Any]):
    def read(self, split: Split, start: Any, end: Any) -> Any:
        return [(split.id, number) for number in range(start, end)]


def told(portions: Portions) -> dict[TaskId, list[tuple[str, Any, Any]]]:
    return {
        task: [(each.split.id, each.start, each.end) for each in portion.ranges]
        for task, portion in portions.items()
    }


def ends(portions: Portions) -> set[str]:
    return {each.split.id for portion in portions.values() for each in portion.ranges if each.ends}


class TestBoundedSources:
    def test_a_source_is_over_when_all_is_handed_over(self):
        rounds = split_rounds(Splits({"a": 3, "b": 2}, bounded=True), tasks=2)
        assert rounds.has_news(())
        portions = rounds.hand_over(None, ())
        assert told(portions) == {FIRST: [("a", 0, 3)], SECOND: [("b", 0, 2)]}
        assert ends(portions) == {"a", "b"}
        assert rounds.over
        assert not rounds.has_news(())

    def test_a_split_ends_when_it_is_read_though_others_are_not(self):
        rounds = split_rounds(Splits({"a": 1, "b": 100}, bounded=True))
        assert ends(rounds.hand_over(10, ())) == {"a"}
        assert not rounds.over
        assert told(rounds.hand_over(1000, ())) == {FIRST: [("b", 9, 100)]}
        assert rounds.over

    def test_a_source_without_splits_is_over_at_once(self):
        rounds = split_rounds(Splits({}, bounded=True))
        assert rounds.has_news(())
        assert rounds.hand_over(None, ()) == {}
        assert rounds.over

    @pytest.mark.parametrize("come_and_go", [True, False])
    def test_a_source_of_empty_splits_is_over_at_once(self, come_and_go):
        rounds = split_rounds(Splits({"a": 0}, bounded=True, come_and_go=come_and_go))
        assert rounds.has_news(())
        rounds.hand_over(None, ())
        assert rounds.over

    def test_what_was_read_to_its_end_before_a_restart_is_said_to_end_once_more(self):
        rounds = split_rounds(Splits({"a": 3}, bounded=True), saved={"a": [{"is": "a"}, 3]})
        assert rounds.has_news(())
        portions = rounds.hand_over(None, ())
        assert told(portions) == {FIRST: [("a", 3, 3)]}
        assert ends(portions) == {"a"}
        assert rounds.over

    def test_a_split_may_end_without_another_record(self):
        source = Splits({"a": 3, "b": 9}, bounded=True)
        source.complete = False  # more may come
        rounds = split_rounds(source)
        assert ends(rounds.hand_over(None, ())) == set()
        assert not rounds.has_news(())
        source.complete = True
        source.available["b"] = 10
        portions = rounds.hand_over(None, ())
        assert told(portions) == {FIRST: [("a", 3, 3), ("b", 9, 10)]}
        assert ends(portions) == {"a", "b"}

    def test_a_source_is_not_over_while_what_was_begun_waits(self):
        begun = {"a": [{"is": "a"}, {"~within": [0, 9, 4]}], "b": [{"is": "b"}, 3]}
        rounds = split_rounds(Splits({"a": 9, "b": 3}, bounded=True), saved=begun)
        assert ends(rounds.hand_over(None, {"a"})) == {"b"}
        assert not rounds.over
        assert not rounds.has_news({"a"})
        assert ends(rounds.hand_over(None, ())) == {"a"}
        assert rounds.over

    def test_the_end_of_a_split_is_news(self):
        source = Splits({"a": 3, "b": 9}, bounded=True)
        source.complete = False
        rounds = split_rounds(source)
        rounds.hand_over(None, ())
        source.complete, source.available["b"] = True, 12
        assert rounds.has_news({"b"})
        assert ends(rounds.hand_over(None, {"b"})) == {"a"}
        assert not rounds.over


class TestSplitsThatStandSideBySide:
    def test_each_is_always_read_by_the_same_task(self):
        source = Splits({"a": 1, "b": 1, "c": 1})
        rounds = split_rounds(source, tasks=2)
        owners: dict[str, TaskId] = {}
        for step in range(1, 6):
            # One alone has something new, and another one appears.
            source.available.update({"bca"[step % 3]: step, f"new-{step}": 1})
            for task, each in told(rounds.hand_over(None, ())).items():
                for id, _, _ in each:
                    assert owners.setdefault(id, task) == task
        assert set(owners.values()) == {FIRST, SECOND}

    def test_one_without_records_is_told_once_for_it_holds_time_back(self):
        rounds = split_rounds(Splits({"a": 0}))
        assert rounds.has_news(())
        assert told(rounds.hand_over(None, ())) == {FIRST: [("a", 0, 0)]}
        assert not rounds.has_news(())
        assert rounds.hand_over(None, ()) == {}

    def test_one_that_appears_is_news(self):
        source = Splits({"a": 1})
        rounds = split_rounds(source)
        rounds.hand_over(None, ())
        source.available["b"] = 0
        assert rounds.has_news(())
        assert told(rounds.hand_over(None, ())) == {FIRST: [("b", 0, 0)]}

    def test_after_a_restart_all_are_told_once_more(self):
        rounds = split_rounds(Splits({"a": 4}), saved={"a": [None, 4]})
        assert told(rounds.hand_over(None, ())) == {FIRST: [("a", 4, 4)]}

    def test_they_are_never_cut_into_parts_for_several_tasks(self):
        source = Splits({"a": 9})
        source.shared = True
        assert told(split_rounds(source, tasks=2).hand_over(None, ())) == {FIRST: [("a", 0, 9)]}

    def test_they_share_a_limit(self):
        rounds = split_rounds(Splits({"a": 300, "b": 100}))
        assert told(rounds.hand_over(100, ())) == {FIRST: [("a", 0, 75), ("b", 0, 25)]}
        assert (rounds.reach.admitted, rounds.reach.behind) == (100, 300)
        assert rounds.has_news(())

    def test_those_that_are_ahead_wait(self):
        source = Splits({"a": 5, "b": 5})
        rounds = split_rounds(source)
        rounds.hand_over(None, ())
        source.available = {"a": 7, "b": 5}
        assert not rounds.has_news({"a"})
        source.available = {"a": 7, "b": 6}
        assert told(rounds.hand_over(None, {"a"})) == {FIRST: [("b", 5, 6)]}
        assert rounds.positions()["a"] == [{"is": "a"}, 5]
        assert told(rounds.hand_over(None, ())) == {FIRST: [("a", 5, 7)]}

    def test_one_that_nobody_knows_yet_does_not_wait(self):
        rounds = split_rounds(Splits({"a": 5}))
        assert rounds.has_news({"a"})
        assert told(rounds.hand_over(None, {"a"})) == {FIRST: [("a", 0, 5)]}


class TestSplitsThatComeAndGo:
    def test_tasks_take_turns(self):
        source = Splits({"a": 1, "b": 1, "c": 1}, come_and_go=True)
        rounds = split_rounds(source, tasks=2)
        assert told(rounds.hand_over(None, ())) == {
            FIRST: [("a", 0, 1), ("c", 0, 1)],
            SECOND: [("b", 0, 1)],
        }
        source.available["d"] = 1
        assert told(rounds.hand_over(None, ())) == {SECOND: [("d", 0, 1)]}

    def test_several_tasks_read_parts_of_one(self):
        source = Splits({"a": 5}, come_and_go=True)
        source.shared = True
        portions = split_rounds(source, tasks=2).hand_over(None, ())
        assert told(portions) == {FIRST: [("a", 0, 2), ("a", 4, 5)], SECOND: [("a", 2, 4)]}

    def test_what_was_begun_is_not_cut(self):
        source = Splits({"a": 9}, come_and_go=True)
        source.shared = True
        rounds = split_rounds(source, tasks=2, saved={"a": [None, {"~within": [0, 9, 4]}]})
        assert rounds.hand_over(None, ()) == {
            FIRST: Portion((Range(Split("a", {"is": "a"}), 0, 9, skip=4, ends=True),))
        }

    def test_one_without_records_is_told_to_nobody(self):
        rounds = split_rounds(Splits({"a": 0}, come_and_go=True))
        assert not rounds.has_news(())
        assert rounds.hand_over(None, ()) == {}

    def test_one_that_is_over_is_asked_no_more(self):
        source = Splits({"a": 3, "b": 3}, come_and_go=True)
        rounds = split_rounds(source)
        rounds.hand_over(None, ())
        source.available["b"] = None  # whoever asks would take it for news
        assert not rounds.has_news(())

    def test_with_a_limit_they_are_read_one_after_the_other(self):
        source = Splits({"a": 6, "b": 6}, come_and_go=True)
        rounds = split_rounds(source)
        assert told(rounds.hand_over(8, ())) == {FIRST: [("a", 0, 6), ("b", 0, 2)]}
        assert told(rounds.hand_over(8, ())) == {FIRST: [("b", 2, 6)]}


class TestPositions:
    def test_they_are_known_before_anything_is_read_and_follow_what_was_handed_over(self):
        rounds = split_rounds(Splits({"a": 8}), saved={"gone": [None, 7]})
        assert rounds.positions() == {"gone": [None, 7]}
        rounds.hand_over(5, ())
        assert rounds.positions() == {"gone": [None, 7], "a": [{"is": "a"}, 5]}
        assert json.loads(json.dumps(rounds.positions())) == rounds.positions()

    def test_one_that_json_writes_otherwise_is_not_taken_for_news(self):
        class Pairs(Splits):
            positions_count_records = False

            def initial_position(self, split: Split) -> Any:
                return 0, 0

        source = Pairs({"a": (1, 2)})
        rounds = split_rounds(source)
        assert told(rounds.hand_over(None, ())) == {FIRST: [("a", [0, 0], [1, 2])]}
        assert rounds.positions() == {"a": [{"is": "a"}, [1, 2]]}
        assert not rounds.has_news(())
        assert rounds.hand_over(None, ()) == {}
        assert rounds.reach.admitted == 0

    def test_a_source_that_is_drained_stays_where_it_is(self):
        rounds = split_rounds(Splits({"a": 8}))
        rounds.hand_over(3, ())
        rounds.drain()
        assert rounds.over
        assert not rounds.has_news(())
        assert rounds.positions() == {"a": [{"is": "a"}, 3]}

    def test_who_is_done_with_a_source_closes_it(self):
        source = Splits({})
        split_rounds(source).close()
        assert source.closed


def test_every_record_comes_once_in_whatever_portions():
    for limit in (None, 1, 3, 7):
        source = Splits({"a": 20, "b": 3, "c": 0}, bounded=True)
        found = read_rounds(source, split_rounds(source, 2), limit)
        assert sorted(record for each in found for record in each) == sorted(
            (id, number) for id, size in source.available.items() for number in range(size)
        )


class Line(Source[Any], SplitEnumerator, LiveReader[Any]):
    """A connection: what comes is put into `coming`; None is its end."""

    def __init__(self, *coming: list[Any] | None):
        self.coming = deque(coming)
        self.asked: list[Any] = []
        self.closed = 0

    def create_enumerator(self) -> SplitEnumerator:
        return self

    def create_reader(self) -> LiveReader[Any]:
        return self

    def splits(self) -> list[Split]:
        return [Split("line", "info")]

    def latest_position(self, split: Split, start: Any) -> Any:
        raise AssertionError("only what comes is known")

    def poll(self, split: Split, position: Any) -> tuple[list[Any], Any] | None:
        self.asked.append(position)
        records = self.coming.popleft() if self.coming else []
        return None if records is None else (records, position + len(records))

    def close(self) -> None:
        self.closed += 1


class TestConnections:
    def test_one_task_gets_what_has_come(self):
        rounds = live_rounds(Line(["a"], ["b", "c"]), tasks=2)
        assert rounds.has_news(())
        assert rounds.has_news(())
        assert rounds.hand_over(1, ()) == {FIRST: Portion(records=(("line", ["a", "b", "c"]),))}
        assert rounds.reach.admitted == 3
        assert not rounds.has_news(())

    def test_its_split_is_told_before_anything_comes(self):
        rounds = live_rounds(Line())
        assert rounds.has_news(())
        assert rounds.hand_over(None, ()) == {FIRST: Portion(records=(("line", []),))}
        assert not rounds.has_news(())

    def test_what_was_taken_in_and_not_handed_over_is_no_position(self):
        rounds = live_rounds(Line(["a"], ["b", "c"]), saved={"line": ["info", 10]})
        rounds.has_news(())
        rounds.hand_over(None, ())
        rounds.has_news(())
        assert rounds.positions() == {"line": ["info", 11]}
        rounds.hand_over(None, ())
        assert rounds.positions() == {"line": ["info", 13]}

    def test_it_is_read_on_where_it_was(self):
        line = Line(["a"], ["b"])
        rounds = live_rounds(line, saved={"line": ["info", 10]})
        rounds.has_news(())
        rounds.has_news(())
        assert line.asked == [10, 11]

    def test_its_end_is_news_and_comes_after_what_was_taken_in(self):
        rounds = live_rounds(Line(["a"], None))
        rounds.has_news(())
        assert rounds.has_news(())
        assert not rounds.over
        assert rounds.hand_over(None, ()) == {FIRST: Portion(records=(("line", ["a"]),))}
        assert rounds.over
        assert not rounds.has_news(())

    def test_the_driver_takes_no_more_in_than_it_can_hold(self, monkeypatch):
        monkeypatch.setattr(round_sources, "_HELD_AT_MOST", 2)
        line = Line(["a", "b"], ["c"])
        rounds = live_rounds(line)
        for _ in range(5):
            rounds.has_news(())
        assert list(line.coming) == [["c"]]
        rounds.hand_over(None, ())
        rounds.has_news(())
        assert not line.coming

    def test_nothing_is_handed_over_after_it_was_drained(self):
        rounds = live_rounds(Line(["a"]))
        rounds.has_news(())
        rounds.drain()
        assert rounds.over
        assert not rounds.has_news(())
        assert rounds.positions() == {"line": ["info", 0]}

    def test_it_is_hung_up(self):
        line = Line()
        live_rounds(line).close()
        assert line.closed == 2  # who names the splits, and who reads


@pytest.mark.parametrize("tasks", [1, 2])
def test_tasks_that_read_nothing_rest(tasks):
    files = split_rounds(Splits({"a": 1}, come_and_go=True), tasks)
    portions = files.hand_over(None, ())
    assert files.resting(portions) == set(files.tasks) - {FIRST}
    assert files.resting({}) == set(files.tasks)
    shards = split_rounds(Splits({"a": 1}), tasks)
    shards.hand_over(None, ())
    assert shards.resting({}) == set(shards.tasks) - {FIRST}  # it keeps the time of a split
