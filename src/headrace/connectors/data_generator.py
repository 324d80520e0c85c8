"""Records made up by a function of their number, as fast as possible or at a given rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from headrace.connectors.argument_checks import require_positive, require_whole
from headrace.connectors.number_sequence import NumberRanges
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.core.types import TypeInformation
from headrace.core.user_code import apply_all
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = ["DataGeneratorSource"]

T = TypeVar("T")

DEFAULT_SPLITS = 2
UNPACED_BATCH = 100_000
GENERATE_AT_ONCE = 1024
PACED_PARTS_PER_SECOND = 10


class DataGeneratorSource(Source[T]):
    """`generator_function(0)`, `generator_function(1)`, … up to `count`, or without end.

    The function runs again for the same number after a failure, so it should depend on nothing
    but its argument: seed what is random with it. `records_per_second` is for all splits
    together.
    """

    def __init__(
        self,
        generator_function: Callable[[int], T],
        count: int | None = None,
        records_per_second: float | None = None,
        type_info: TypeInformation | None = None,
        splits: int = DEFAULT_SPLITS,
    ):
        _check(generator_function, count, records_per_second, splits)
        self.generator_function = generator_function
        self.count = count
        self.records_per_second = records_per_second
        self.type_info = type_info
        self.split_count = splits

    def create_enumerator(self) -> SplitEnumerator:
        rate = self.records_per_second
        if self.count is not None:
            if rate is None:
                return NumberRanges(0, self.count, self.split_count)
            return _PacedRanges(self.count, self.split_count, rate / self.split_count)
        if rate is None:
            return _EndlessNumbers(self.split_count)
        return _NumbersByTheClock(self.split_count, rate / self.split_count)

    def create_reader(self) -> SplitReader[T]:
        if self.count is None:
            return _EndlessReader(self.generator_function, None)
        rate = self.records_per_second
        pace = None if rate is None else rate / self.split_count
        return _RangeReader(self.generator_function, pace)

    def boundedness(self) -> Boundedness:
        bounded = self.count is not None
        return Boundedness.BOUNDED if bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> TypeInformation | None:
        return self.type_info


class _PacedRanges(NumberRanges):
    """A fixed count at a rate: about a second's worth at once, and the reader takes its time.

    The clock cannot decide here, because a batch job asks for everything at its start.
    """

    def __init__(self, count: int, splits: int, rate: float):
        super().__init__(0, count, splits)
        self._step = max(1, round(rate))


class _EndlessNumbers(SplitEnumerator):
    """Split k of n has the numbers k, k + n, k + 2n, …; a position counts them."""

    positions_count_records = True

    def __init__(self, splits: int):
        self._splits = [Split(f"{number:06d}", [number, splits]) for number in range(splits)]

    def splits(self) -> list[Split]:
        return self._splits

    def latest_position(self, split: Split, start: Any) -> Any:
        return start + UNPACED_BATCH


class _NumbersByTheClock(_EndlessNumbers):
    """As many numbers as the clock says are due since the job first started.

    That moment is part of each position, so a restarted job goes on as if it had never stopped.
    """

    def __init__(self, splits: int, rate: float):
        super().__init__(splits)
        self._rate = rate

    def initial_position(self, split: Split) -> Any:
        return {"next": 0, "since": round(time.time() * 1000)}

    def latest_position(self, split: Split, start: Any) -> Any:
        due = int((time.time() * 1000 - start["since"]) / 1000 * self._rate)
        return {**start, "next": due} if due > start["next"] else start

    def records_between(self, split: Split, start: Any, end: Any) -> int:
        return int(end["next"] - start["next"])

    def position_after(self, split: Split, start: Any, end: Any, records: int) -> Any:
        return {**end, "next": min(end["next"], start["next"] + max(1, records))}


class _RangeReader(SplitReader[T]):
    """Positions are the numbers themselves."""

    def __init__(self, function: Callable[[int], T], pace: float | None):
        self._function = function
        self._pace = pace

    def numbers(self, split: Split, start: Any, end: Any) -> range:
        return range(start, end)

    def read(self, split: Split, start: Any, end: Any) -> Iterable[T]:
        numbers, pace = self.numbers(split, start, end), self._pace
        at_once = GENERATE_AT_ONCE
        if pace is not None:
            at_once = max(1, min(at_once, round(pace / PACED_PARTS_PER_SECOND)))
        began = time.monotonic()
        for place in range(0, len(numbers), at_once):
            part = numbers[place : place + at_once]
            if pace is not None:
                _sleep_until(began + (place + len(part)) / pace)
            yield from apply_all(self._function, part, "generator_function")


class _EndlessReader(_RangeReader[T]):
    """Positions count the numbers of a split."""

    def numbers(self, split: Split, start: Any, end: Any) -> range:
        if isinstance(start, dict):
            start, end = start["next"], end["next"]
        first, step = split.info
        return range(first + start * step, first + end * step, step)


def _sleep_until(moment: float) -> None:
    wait = moment - time.monotonic()
    if wait > 0:
        time.sleep(wait)


def _check(function: object, count: int | None, rate: float | None, splits: int) -> None:
    if not callable(function):
        raise TypeMismatch(
            f"a data generator needs a function of the record's number, not {function!r}",
            origin=calling_origin(),
        )
    if count is not None and require_whole(count, "count") < 0:
        raise InvalidArgument(f"count cannot be negative, but is {count}", origin=calling_origin())
    require_positive(splits, "splits")
    if rate is not None and not rate > 0:
        raise InvalidArgument(
            f"records_per_second must be above 0, but is {rate!r}",
            origin=calling_origin(),
            hint="Leave it out for as fast as possible.",
        )
