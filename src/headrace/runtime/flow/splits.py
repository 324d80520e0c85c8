"""The splits that one task reads, and how far it has come in each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.core.checkpointed import source_part
from headrace.core.operator import Batch
from headrace.core.source import Boundedness, LiveReader, Source, Split, SplitReader
from headrace.errors import HeadraceError
from headrace.runtime.flow.fed import FedReader, FedSource
from headrace.runtime.flow.messages import Feed, Positions, Range
from headrace.runtime.source_task import read_split, without_first

_WITHIN = "~within"
"""Marks a position inside of a range: its start, its end and how many records of it were read."""


def is_within(position: Any) -> bool:
    """Whether a position is inside of a range."""
    return isinstance(position, dict) and _WITHIN in position


def records_within(position: Any) -> int:
    """How many records were read of the range that a position is inside of; else none."""
    return int(position[_WITHIN][2]) if is_within(position) else 0


def rest_of_range(split: Split, position: Any) -> Range:
    """What is left of the range that a position is inside of."""
    start, end, read = position[_WITHIN]
    return Range(split, start, end, skip=read)


@dataclass
class _Reading:
    split: Split
    at: Any
    """Where the range begins that is being read, or the next one will."""
    upto: Any = None
    parts: Iterator[Batch] | None = None
    """What is left of the range."""
    skip: int = 0
    """How many records of the range were read before the last restart."""
    read: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class SplitReach:
    """How far a split has come."""

    position: Any
    available: Any = None
    """Up to where it could be read; None if its reader only knows what comes."""
    behind: int | None = None
    """About how many records lie between the two, if that can be counted."""


class Splits:
    """Reads the splits of one source that were given to this task: in turns, or one after the other
    where they end."""

    def __init__(
        self, source: Source[Any], origin: object | None = None, *, checkpoints: bool = True
    ):
        """`origin`: the line of the program that made the source; `checkpoints`: whether there will
        be any."""
        self._source = source
        self._origin = origin
        self.in_steps = source.in_steps
        self._bounded = source.boundedness() is Boundedness.BOUNDED
        self._enumerator = source_part(source.create_enumerator())
        reader: SplitReader[Any] | LiveReader[Any] = source.create_reader()
        self._reader = source_part(reader)
        self._readings: dict[str, _Reading] = {}
        self._going_on: deque[_Reading] = deque()
        """Those that are not at their end, in the order of their turns."""
        self._waiting: frozenset[str] = frozenset()
        self._checkpoints = checkpoints
        self._not_durable: dict[int, Positions] = {}
        """By checkpoint: where a reader that acknowledges was."""
        self._told = False
        self._read_any = False
        self._complete = False
        self._paused = False
        self._tell_end: Callable[[str], None] = lambda split: None

    def assign(self, splits: tuple[tuple[Split, Any], ...]) -> Iterator[Batch]:
        """Take over splits; yields what makes them known to those who keep time."""
        self._told = True
        for split, position in splits:
            reading = _Reading(split, position)
            if is_within(position):
                reading.at, reading.upto, reading.skip = position[_WITHIN]
                assert isinstance(self._reader, SplitReader)
                reading.parts = self._parts(self._reader, reading)
            self._readings[split.id] = reading
            self._going_on.append(reading)
            if not self._source.splits_end:
                yield Batch([], split=split.id)

    def feed(self, piece: Feed) -> None:
        """Take in what somebody else has read for this task."""
        assert isinstance(self._reader, FedReader)
        self._reader.feed(piece)

    def on_taken(self, tell: Callable[[str], None]) -> None:
        """`tell` is called whenever a piece of a split was taken that was read for this task."""
        if isinstance(self._reader, FedReader):
            self._reader.on_taken = tell

    def on_end(self, tell: Callable[[str], None]) -> None:
        """`tell` is called with each split that was read to its end."""
        self._tell_end = tell

    @property
    def must_go_on(self) -> bool:
        """Whether a split was begun in which there is no place to stop at: who reads it once more
        gets its rows in another order."""
        keeps_order = not isinstance(self._source, FedSource) or self._source.keeps_order
        return not keeps_order and any(reading.read for reading in self._going_on)

    @property
    def are_unknown(self) -> bool:
        """Whether nobody has said yet what there is to read, or no record was read yet of what was
        given: splits that end are not known by name, and must hold time back all the same. While
        it pauses, it cannot know either whether there is anything."""
        unread = self._source.splits_end and not self._read_any and bool(self._going_on)
        return not self._told or unread or self._paused

    def hold(self, splits: frozenset[str]) -> None:
        """Let those wait, and no others."""
        self._waiting = splits

    def pause(self, on: bool) -> None:
        """Whether all of them wait."""
        self._paused = on

    def complete(self) -> None:
        """No split will be assigned any more."""
        self._complete = True

    def drain(self) -> None:
        """Read no further."""
        self._complete = True
        self._going_on.clear()

    @property
    def ended(self) -> bool:
        """Whether there is nothing to read, and never will be."""
        return self._complete and not self._going_on

    @property
    def know_what_is_there(self) -> bool:
        """Whether all that could be read is, not what somebody happens to hand over."""
        return isinstance(self._reader, SplitReader) and not self._reader.follows

    def positions(self) -> Positions:
        """From where to read on, for a checkpoint."""
        return {id: (reading.split.info, self._position(reading))
                for id, reading in self._readings.items()}  # fmt: skip

    def take_positions(self, checkpoint: int) -> Positions:
        """The positions of a checkpoint that is under way."""
        found = self.positions()
        if isinstance(self._reader, LiveReader) and self._reader.acknowledges:
            self._not_durable[checkpoint] = found
        return found

    def checkpoint_completed(self, checkpoint: int) -> None:
        """All that was read before its barrier is durable."""
        durable = sorted(number for number in self._not_durable if number <= checkpoint)
        positions = [self._not_durable.pop(number) for number in durable]
        for id, (_, at) in positions[-1].items() if positions else ():
            assert isinstance(self._reader, LiveReader)
            self._reader.acknowledge(self._readings[id].split, at)

    def reach(self) -> dict[str, SplitReach]:
        """How far each split has come that is not at its end."""
        if isinstance(self._reader, LiveReader):
            return {reading.split.id: SplitReach(reading.at) for reading in self._going_on}
        return {reading.split.id: self._reach(reading) for reading in self._going_on}

    def _reach(self, reading: _Reading) -> SplitReach:
        assert isinstance(self._reader, SplitReader)
        if self._reader.is_followed(reading.split):
            return self._known_reach(reading)
        split = reading.split
        available = self._enumerator.latest_position(split, reading.at)
        between = self._enumerator.records_between(split, reading.at, available)
        behind = None if between is None else max(0, between - reading.read)
        return SplitReach(self._position(reading), available, behind)

    def _known_reach(self, reading: _Reading) -> SplitReach:
        assert isinstance(self._reader, SplitReader)
        end = self._reader.known_end(reading.split)
        if end is None:
            return SplitReach(reading.at)
        between = self._enumerator.records_between(reading.split, reading.at, end)
        return SplitReach(reading.at, end, None if between is None else max(0, between))

    def _position(self, reading: _Reading) -> Any:
        if reading.parts is None or not reading.read:
            return reading.at
        if self._enumerator.positions_count_records:
            return self._enumerator.position_after(
                reading.split, reading.at, reading.upto, reading.read
            )
        return {_WITHIN: [reading.at, reading.upto, reading.read]}

    def read(self) -> Batch | None:
        """Some records of the next split that has any; None if there are none now."""
        for _ in range(0 if self._paused else len(self._going_on)):
            reading = self._going_on.popleft()
            waits = reading.split.id in self._waiting
            batch = None if waits else self._read_or_blame(reading)
            if reading.ended:
                self._tell_end(reading.split.id)
            else:
                # Splits that end have no time of their own. Read in turns, the records of the one
                # behind in time would all be late: one is read to its end, as in Flink.
                stays = batch is not None and self._source.splits_end
                (self._going_on.appendleft if stays else self._going_on.append)(reading)
            if batch is not None:
                self._read_any = True
                return batch
        return None

    def _read_or_blame(self, reading: _Reading) -> Batch | None:
        try:
            return self._read_some(reading)
        except HeadraceError as error:
            error.came_from(self._origin)
            raise

    def _read_some(self, reading: _Reading) -> Batch | None:
        name = None if self._source.splits_end else reading.split.id
        if isinstance(self._reader, LiveReader):
            batch = self._poll(self._reader, reading)
        elif self._reader.is_followed(reading.split):
            batch = self._follow(self._reader, reading)
        else:
            batch = self._read_range(self._reader, reading)
        if batch is not None:
            batch.split = name
        elif reading.ended and name is not None:
            return Batch([], split=name, ends_split=True)
        return batch

    def _poll(self, reader: LiveReader[Any], reading: _Reading) -> Batch | None:
        if reader.acknowledges and not self._checkpoints:
            reader.acknowledge(reading.split, reading.at)  # nobody will say so later
        found = reader.poll(reading.split, reading.at)
        if found is None:
            reading.ended = True
            self._complete = True  # nobody will open another connection
            return None
        records, reading.at = found
        return Batch(records) if records else None

    def _follow(self, reader: SplitReader[Any], reading: _Reading) -> Batch | None:
        found = reader.follow(reading.split, reading.at)
        if found is None:
            reading.ended = True
            return None
        batch, reading.at = found
        return batch if batch.values else None

    def _read_range(self, reader: SplitReader[Any], reading: _Reading) -> Batch | None:
        while True:
            if reading.parts is None:
                upto = self._enumerator.latest_position(reading.split, reading.at)
                if upto == reading.at:
                    reading.ended = self._is_at_end(reading)
                    return None
                reading.upto = upto
                reading.parts = self._parts(reader, reading)
            batch = next(reading.parts, None)
            if batch is not None:
                reading.read += len(batch.values)
                return batch if batch.values else None  # where others read, more may come
            reading.at, reading.parts, reading.read = reading.upto, None, 0

    def _is_at_end(self, reading: _Reading) -> bool:
        if self._bounded:
            return self._enumerator.is_at_end(reading.split, reading.at)
        return self._enumerator.is_over(reading.split, reading.at)

    def _parts(self, reader: SplitReader[Any], reading: _Reading) -> Iterator[Batch]:
        parts = read_split(reader, reading.split, reading.at, reading.upto)
        skip, reading.read, reading.skip = reading.skip, reading.skip, 0
        return parts if isinstance(reader, FedReader) else without_first(parts, skip)

    def close(self) -> None:
        self._reader.close()
        self._enumerator.close()
