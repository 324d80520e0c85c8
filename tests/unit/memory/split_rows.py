"""A source with splits that tests write down."""

from __future__ import annotations

from typing import Any

from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader


class Rows(Source):
    """Splits that give one list of records in each micro-batch."""

    def __init__(self, splits: dict[str, list[list[Any]]]):
        self.lists = splits

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _Steps(self.lists)

    def create_reader(self) -> SplitReader[Any]:
        return _Read(self.lists)


class _Steps(SplitEnumerator):
    def __init__(self, lists: dict[str, list[list[Any]]]):
        self.lists = lists

    def splits(self) -> list[Split]:
        return [Split(name) for name in self.lists]

    def latest_position(self, split: Split, start: Any) -> Any:
        return min(start + 1, len(self.lists[split.id]))


class _Read(SplitReader[Any]):
    def __init__(self, lists: dict[str, list[list[Any]]]):
        self.lists = lists

    def read(self, split: Split, start: Any, end: Any) -> Any:
        return [record for part in self.lists[split.id][start:end] for record in part]
