"""What the sources of a job hand over in a round: the driver decides, their tasks read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from headrace.core.checkpointed import source_part
from headrace.core.source import Boundedness, LiveReader, Source, Split, SplitEnumerator
from headrace.errors import HeadraceError
from headrace.plan.physical import Vertex
from headrace.runtime.flow.gate import Gate, SourceReach
from headrace.runtime.flow.messages import Range, TaskId
from headrace.runtime.flow.splits import is_within, rest_of_range

Positions = dict[str, Any]
"""By the id of a split: what else is known of it, and from where to read on."""
_HELD_AT_MOST = 100_000
"""Records of a connection that the driver holds before it stops taking more."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one task of a source gets in a round."""

    ranges: tuple[Range, ...] = ()
    records: tuple[tuple[str, list[Any]], ...] = ()


class RoundSource(ABC):
    """One source of a job, as its driver sees it."""

    reach: SourceReach = SourceReach()
    """What it has handed over last, and what not."""
    over: bool = False
    """Whether nothing follows what it has handed over."""
    is_fed: bool = False
    """Whether Spark reads for its tasks."""
    counts_records: bool = False
    """Whether it can be told how many records to hand over."""
    has_begun: bool = True
    """Whether its tasks can know what they have to read."""

    def __init__(self, vertex: Vertex, tasks: list[TaskId]):
        self.vertex = vertex
        self.tasks = tasks

    @abstractmethod
    def has_news(self, waiting: Collection[str]) -> bool:
        """Whether there is something to hand over, of splits that need not wait for others."""

    @abstractmethod
    def hand_over(self, limit: int | None, waiting: Collection[str]) -> dict[TaskId, Portion]:
        """What its tasks get in the next round, `limit` records at most."""

    @abstractmethod
    def positions(self) -> Positions:
        """From where to read on after what was handed over."""

    def resting(self, portions: Collection[TaskId]) -> set[TaskId]:
        """The tasks that hold nobody's time back while others read; `portions`: who reads."""
        return {task for task in self.tasks if task not in portions}

    def drain(self) -> None:
        """Hand over nothing more."""
        self.over = True

    def checkpoint_completed(self, positions: Positions) -> None:
        """All that was handed over up to these positions is durable."""

    def close(self) -> None:
        """Release what it holds."""


class SplitRounds(RoundSource):
    """A source whose splits can be read from any position."""

    counts_records = True
    has_begun = False

    def __init__(self, vertex: Vertex, tasks: list[TaskId], source: Source[Any], saved: Positions):
        super().__init__(vertex, tasks)
        self._enumerator: SplitEnumerator = source_part(source.create_enumerator())
        self._bounded = source.boundedness() is Boundedness.BOUNDED
        self._splits_end = source.splits_end
        self._positions = dict(saved)
        if saved:
            with ExitStack() as if_it_fails:
                if_it_fails.callback(self._enumerator.close)
                self._enumerator.restore([Split(id, info) for id, (info, _) in saved.items()])
                if_it_fails.pop_all()
        self._owners: dict[str, TaskId] = {}
        self._announced: set[str] = set()
        """Splits that the tasks know of: others hold time back from the start."""
        self._done: set[str] = set()
        """Splits with nothing more to give, now or later."""
        self._turn = 0
        self._gate = Gate(self._enumerator, one_by_one=source.splits_end)

    def has_news(self, waiting: Collection[str]) -> bool:
        if self.over:
            return False
        some = False
        for split, at in self._going_on(waiting):
            if is_within(at) or self._latest(split, at) != at:
                return True
            is_new = split.id not in self._positions
            some = some or (is_new and self._bounded) or self._is_told(Range(split, at, at))
        return some or (self._bounded and self._is_at_end())

    def _latest(self, split: Split, at: Any) -> Any:
        return _as_json(self._enumerator.latest_position(split, at))

    def _going_on(self, waiting: Collection[str]) -> Iterator[tuple[Split, Any]]:
        """The splits that may have more, and where they are."""
        named = {split.id: split for split in self._enumerator.splits()}
        for split in named.values():
            if split.id in self._done:
                continue
            known = self._positions.get(split.id)
            if known is None:
                yield split, _as_json(self._enumerator.initial_position(split))
            elif split.id not in waiting:
                yield split, known[1]
        for id, (info, at) in self._positions.items():
            if id not in named and id not in waiting and is_within(at):
                # What was begun is read to its end.
                yield Split(id, info), at

    def _is_at_end(self) -> bool:
        if any(is_within(at) for _, at in self._positions.values()):
            return False
        splits = self._enumerator.splits()
        if not self._enumerator.has_named_all:
            return False
        return all(
            split.id in self._positions
            and self._enumerator.is_at_end(split, self._positions[split.id][1])
            for split in splits
            if split.id not in self._done
        )

    def hand_over(self, limit: int | None, waiting: Collection[str]) -> dict[TaskId, Portion]:
        self.has_begun = True
        ranges: list[Range] = []
        offers = []
        for split, at in self._going_on(waiting):
            if is_within(at):
                ranges.append(rest_of_range(split, at))
            else:
                offers.append((split, at, self._latest(split, at)))
        ends = self._gate.admit(offers, limit)
        self.reach = self._gate.reach
        ranges += [Range(split, at, _as_json(ends[split.id])) for split, at, _ in offers]
        for each in ranges:
            self._positions[each.split.id] = [each.split.info, each.end]
        self.over = self._bounded and self._is_at_end()
        return self._deal([self._with_end(each) for each in ranges if self._is_told(each)])

    def _is_told(self, each: Range) -> bool:
        """Whether a task must hear of a range: it has records, or time depends on its split."""
        if each.start != each.end or self._splits_end:
            return bool(each.start != each.end)
        return each.split.id not in self._announced or self._is_last(each)

    def _is_last(self, each: Range) -> bool:
        at_end = self._bounded and self._enumerator.is_at_end(each.split, each.end)
        return at_end or self._enumerator.is_over(each.split, each.end)

    def _with_end(self, each: Range) -> Range:
        self._announced.add(each.split.id)
        is_last = self._is_last(each)
        if is_last:
            self._done.add(each.split.id)
            self._enumerator.split_ended(each.split.id)
        return replace(each, ends=is_last)

    def _deal(self, ranges: list[Range]) -> dict[TaskId, Portion]:
        by_task: dict[TaskId, list[Range]] = {}
        for each in ranges:
            for part in self._cut(each):
                by_task.setdefault(self._owner(part.split), []).append(part)
        return {task: Portion(tuple(parts)) for task, parts in by_task.items()}

    def _cut(self, each: Range) -> list[Range]:
        """The parts of a range that several tasks may read."""
        if each.skip or not self._splits_end:
            return [each]
        cuts = self._enumerator.cuts(each.split, each.start, each.end)
        return [
            replace(each, start=start, end=end)
            for start, end in pairwise([each.start, *cuts, each.end])
        ]

    def _owner(self, split: Split) -> TaskId:
        """Who reads a split: always the same task, for it keeps the split's time."""
        if split.id not in self._owners or self._splits_end:
            self._owners[split.id] = self.tasks[self._turn % len(self.tasks)]
            self._turn += 1
        return self._owners[split.id]

    def positions(self) -> Positions:
        return dict(self._positions)

    def resting(self, portions: Collection[TaskId]) -> set[TaskId]:
        return super().resting(portions if self._splits_end else set(self._owners.values()))

    def checkpoint_completed(self, positions: Positions) -> None:
        self._enumerator.checkpoint_completed({id: at for id, (_, at) in positions.items()})

    def close(self) -> None:
        self._enumerator.close()


class LiveRounds(RoundSource):
    """A source that only gives what comes: the driver takes it in, and hands it to a task."""

    def __init__(self, vertex: Vertex, tasks: list[TaskId], source: Source[Any], saved: Positions):
        super().__init__(vertex, tasks)
        self._enumerator = enumerator = source_part(source.create_enumerator())
        with ExitStack() as if_it_fails:
            if_it_fails.callback(enumerator.close)
            reader: Any = source.create_reader()
            self._reader: LiveReader[Any] = source_part(reader)
            if_it_fails.callback(self._reader.close)
            if saved:
                enumerator.restore([Split(id, info) for id, (info, _) in saved.items()])
            try:
                self._splits = {split.id: split for split in enumerator.splits()}
            except HeadraceError as error:
                error.came_from(vertex.origin)
                raise
            self._read_upto = {
                id: saved[id][1] if id in saved else enumerator.initial_position(split)
                for id, split in self._splits.items()
            }
            if_it_fails.pop_all()
        self._handed_over = dict(self._read_upto)
        self._held: dict[str, list[Any]] = {id: [] for id in self._splits}
        self._announced = self._ended = False

    def has_news(self, waiting: Collection[str]) -> bool:
        if self.over:
            return False
        for id, split in self._splits.items():
            if len(self._held[id]) < _HELD_AT_MOST and not self._ended:
                found = self._reader.poll(split, self._read_upto[id])
                if found is None:
                    self._ended = True
                else:
                    self._held[id] += found[0]
                    self._read_upto[id] = found[1]
        has_gone_on = self._reader.acknowledges and self._read_upto != self._handed_over
        return not self._announced or self._ended or has_gone_on or any(self._held.values())

    def hand_over(self, limit: int | None, waiting: Collection[str]) -> dict[TaskId, Portion]:
        self._announced = True
        held, self._held = self._held, {id: [] for id in self._splits}
        self._handed_over = dict(self._read_upto)
        self.reach = SourceReach(sum(map(len, held.values())))
        self.over = self._ended
        return {self.tasks[0]: Portion(records=tuple(held.items()))}

    def positions(self) -> Positions:
        return {id: [split.info, self._handed_over[id]] for id, split in self._splits.items()}

    def checkpoint_completed(self, positions: Positions) -> None:
        self._enumerator.checkpoint_completed({id: at for id, (_, at) in positions.items()})
        for id, (_, at) in positions.items():
            if id in self._splits:
                self._reader.acknowledge(self._splits[id], at)

    def close(self) -> None:
        with closing(self._enumerator):
            self._reader.close()


def _as_json(position: Any) -> Any:
    """A position as a checkpoint gives it back: what went in as a tuple comes out as a list."""
    return json.loads(json.dumps(position))
