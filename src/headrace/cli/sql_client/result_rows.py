"""What of a query's changes is kept to be shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from headrace.core.logical_types import Field
from headrace.core.table_connector import DELETE, KIND_TEXTS, UPDATE_BEFORE
from headrace.table.tableau import shown

Texts = tuple[str, ...]


class KeptRows(ABC):
    """Takes changes in and gives rows of texts."""

    heads: tuple[str, ...]

    def __init__(self, fields: Sequence[Field], limit: int):
        self._types = [field.type for field in fields]
        self.heads = tuple(field.name for field in fields)
        self.limit = limit
        self.changes = 0
        self.dropped = 0
        """Rows that are no longer kept, for there were too many."""

    def _texts(self, change: tuple[Any, ...]) -> Texts:
        return tuple(map(shown, change[1:], self._types))

    @abstractmethod
    def add(self, change: tuple[Any, ...]) -> None:
        """Take a change in."""

    @abstractmethod
    def rows(self) -> Iterable[Texts]:
        """What is shown now."""

    @abstractmethod
    def __len__(self) -> int:
        """How many rows are shown."""

    def last(self, count: int) -> list[Texts]:
        return list(islice(self.rows(), max(0, len(self) - count), None))


class MaterializedRows(KeptRows):
    """The result as it stands: what was inserted and not taken back, the oldest first."""

    def __init__(self, fields: Sequence[Field], limit: int):
        super().__init__(fields, limit)
        self._counts: dict[Texts, int] = {}
        self._size = 0

    def add(self, change: tuple[Any, ...]) -> None:
        self.changes += 1
        row = self._texts(change)
        count = self._counts.get(row, 0)
        if change[0] not in (UPDATE_BEFORE, DELETE):
            self._counts[row] = count + 1
            self._size += 1
            if self._size > self.limit:
                self._drop_oldest()
        elif count:
            self._size -= 1
            if count > 1:
                self._counts[row] = count - 1
            else:
                del self._counts[row]

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._counts))
        self._size -= 1
        self.dropped += 1
        if self._counts[oldest] > 1:
            self._counts[oldest] -= 1
        else:
            del self._counts[oldest]

    def rows(self) -> Iterable[Texts]:
        return (row for row, count in self._counts.items() for _ in range(count))

    def __len__(self) -> int:
        return self._size


class ChangeRows(KeptRows):
    """The changes themselves, each with its kind first."""

    def __init__(self, fields: Sequence[Field], limit: int):
        super().__init__(fields, limit)
        self.heads = ("op", *self.heads)
        self._kept: deque[Texts] = deque(maxlen=limit)

    def add(self, change: tuple[Any, ...]) -> None:
        self.changes += 1
        self.dropped += len(self._kept) == self.limit
        self._kept.append((KIND_TEXTS[change[0]], *self._texts(change)))

    def rows(self) -> Iterable[Texts]:
        return self._kept

    def __len__(self) -> int:
        return len(self._kept)
