"""A source that gives exactly the micro-batches a test asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.core.types import TypeInformation

__all__ = ["ScriptedSource"]


class ScriptedSource(Source[Any]):
    """Gives the records of one list in each micro-batch, then ends; a position counts lists.

    In real time it gives one list after the other, each with a watermark behind it. `timestamp`
    tells the event time of a record; without it records have none.

    >>> ScriptedSource([["first"], ["second", "third"]]).boundedness().value
    'bounded'
    """

    in_steps = True

    def __init__(
        self, batches: Iterable[Sequence[Any]], *, timestamp: Callable[[Any], int] | None = None,
        type_info: TypeInformation | None = None,
    ):  # fmt: skip
        self._batches = [list(batch) for batch in batches]
        self._timestamp = timestamp
        self._type = type_info

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def produced_type(self) -> TypeInformation | None:
        return self._type

    def create_enumerator(self) -> SplitEnumerator:
        return _OneByOne(len(self._batches))

    def create_reader(self) -> SplitReader[Any]:
        if self._timestamp is None:
            return _Reader(self._batches)
        return _TimedReader(self._batches, self._timestamp)


class _OneByOne(SplitEnumerator):
    """Positions count lists, not records: no list is ever cut."""

    def __init__(self, batches: int):
        self._batches = batches

    def splits(self) -> list[Split]:
        return [Split("script")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return min(int(start) + 1, self._batches)


class _Reader(SplitReader[Any]):
    def __init__(self, batches: list[list[Any]]):
        self._batches = batches

    def read(self, split: Split, start: Any, end: Any) -> Iterable[Any]:
        return [record for batch in self._batches[start:end] for record in batch]


class _TimedReader(_Reader):
    def __init__(self, batches: list[list[Any]], timestamp: Callable[[Any], int]):
        super().__init__(batches)
        self._timestamp = timestamp

    def timestamp(self, record: Any) -> int | None:
        return self._timestamp(record)
