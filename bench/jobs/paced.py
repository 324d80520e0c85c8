"""Records that are made when they are due, so many a second, on headrace."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headrace.datastream.connectors import Source, Split, SplitEnumerator, SplitReader

SPLITS = 2


class Paced(Source[Any]):
    """`make(number)` for 0, 1, 2, …, `rate` a second, for ever or up to `count`.

    Split k of two has every second number. Someone who gives `began` may start a job again and
    has what became due in the meantime at once.
    """

    def __init__(
        self,
        make: Callable[[int], Any],
        rate: float,
        began: float | None = None,
        count: int | None = None,
    ):
        self._make = make
        self._rate = rate / SPLITS
        self._began = began
        self._most = None if count is None else count // SPLITS

    def create_enumerator(self) -> SplitEnumerator:
        return _Due(self._rate, self._began, self._most)

    def create_reader(self) -> SplitReader[Any]:
        return _Reader(self._make)


class _Due(SplitEnumerator):
    positions_count_records = True

    def __init__(self, rate: float, began: float | None, most: int | None):
        self._rate = rate
        self._began = time.time() if began is None else began
        self._most = most

    def splits(self) -> list[Split]:
        return [Split(f"part-{number}", number) for number in range(SPLITS)]

    def latest_position(self, split: Split, start: int) -> int:
        due = int((time.time() - self._began) * self._rate)
        return max(start, due if self._most is None else min(due, self._most))


class _Reader(SplitReader[Any]):
    def __init__(self, make: Callable[[int], Any]):
        self._make = make

    def read(self, split: Split, start: int, end: int) -> list[Any]:
        first = split.info
        return [self._make(number * SPLITS + first) for number in range(start, end)]
