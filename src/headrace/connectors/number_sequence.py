"""Whole numbers in order, read in parallel ranges."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.connectors.argument_checks import require_whole
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.core.types import TypeInformation, Types
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["NumberRanges", "NumberSequenceSource"]

RANGES = 8
READ_IN_ONE_BATCH = 1 << 20
MOST_BATCHES = 1024


class NumberSequenceSource(Source[int]):
    """The numbers from `start` to `end`, both included; each parallel range comes in order."""

    def __init__(self, start: int, end: int):
        require_whole(start, "the start of a number sequence")
        require_whole(end, "the end of a number sequence")
        if start > end:
            raise InvalidArgument(
                f"a number sequence cannot start at {start} and end at {end}",
                origin=calling_origin(),
                hint="The end is included and must not be below the start.",
            )
        self.start = start
        self.end = end

    def create_enumerator(self) -> SplitEnumerator:
        return NumberRanges(self.start, self.end + 1, RANGES)

    def create_reader(self) -> SplitReader[int]:
        return _Reader()

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def produced_type(self) -> TypeInformation:
        return Types.LONG()


class NumberRanges(SplitEnumerator):
    """The numbers from `start` up to `end` (excluded) as at most `ranges` splits of like size.

    A split's info is its first number and the one after its last; a position is the next number.
    """

    positions_count_records = True

    def __init__(self, start: int, end: int, ranges: int):
        count = end - start
        ranges = max(1, min(count, ranges))
        bounds = [start + count * number // ranges for number in range(ranges + 1)]
        self._splits = [
            Split(f"{number:06d}", [bounds[number], bounds[number + 1]]) for number in range(ranges)
        ]
        self._step = max(READ_IN_ONE_BATCH, count // ranges // MOST_BATCHES)

    def splits(self) -> list[Split]:
        return self._splits

    def initial_position(self, split: Split) -> int:
        first: int = split.info[0]
        return first

    def latest_position(self, split: Split, start: int) -> int:
        end: int = split.info[1]
        return min(start + self._step, end)


class _Reader(SplitReader[int]):
    def read(self, split: Split, start: int, end: int) -> Iterable[int]:
        return range(start, end)
