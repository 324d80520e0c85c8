"""What a regular join remembers of one side: its rows under the current key.

A side whose rows can meet no partner and still count (of outer, semi and anti joins) also keeps
how many partners each row has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.core.state import MapState, MapStateDescriptor
from headrace.core.types import Types
from headrace.operators.table.hashable_rows import Values, lookup_form, selector
from headrace.operators.table.keyed_changes import with_ttl
from headrace.operators.table.state_types import lookup_state_type, values_state_type

Matches = Callable[[Values], bool]
Partner = tuple[Values, int]
"""A row of the other side, and how many partners it has itself."""


@dataclass(frozen=True)
class JoinInput:
    """What is known of one side of a join."""

    types: tuple[LogicalType, ...]
    """Of its rows' columns."""
    unique_key: tuple[int, ...] | None = None
    """Columns by which its rows differ; None if the same row may come twice."""
    ttl_ms: int = 0
    """How long a row is remembered; 0 is forever."""


class JoinSide(ABC):
    """The rows of one side under the current key."""

    def __init__(self, state: MapState[Any, Any], counts_partners: bool):
        self._state = state
        self._counts = counts_partners

    @abstractmethod
    def add(self, values: Values, partners: int) -> None:
        """A row has come, with so many partners."""

    @abstractmethod
    def remove(self, values: Values) -> None:
        """A row is taken back; one that has expired is not missed."""

    @abstractmethod
    def matching(self, matches: Matches) -> list[Partner]:
        """The rows that match, as often as they are there."""

    def replaced_by(self, values: Values) -> Values | None:
        """The row that another one takes the place of, where rows differ by a key."""
        return None

    def named_by(self, values: Values) -> Values:
        """The row that a removal means, which may have no more than the key filled."""
        return values

    @abstractmethod
    def set_partners(self, values: Values, partners: int) -> None:
        """A row has another number of partners now."""


class CountedRows(JoinSide):
    """Rows that may be there several times: {row: count} or {row: (count, partners)}."""

    def add(self, values: Values, partners: int) -> None:
        key = lookup_form(values)
        found = self._state.get(key)
        if self._counts:
            self._state.put(key, (1 if found is None else found[0] + 1, partners))
        else:
            self._state.put(key, 1 if found is None else found + 1)

    def remove(self, values: Values) -> None:
        key = lookup_form(values)
        found = self._state.get(key)
        if found is None:
            return
        count = found[0] if self._counts else found
        if count <= 1:
            self._state.remove(key)
        elif self._counts:
            self._state.put(key, (count - 1, found[1]))
        else:
            self._state.put(key, count - 1)

    def matching(self, matches: Matches) -> list[Partner]:
        found: list[Partner] = []
        for values, kept in self._state.items():
            if matches(values):
                count, partners = kept if self._counts else (kept, 0)
                found += [(values, partners)] * count
        return found

    def set_partners(self, values: Values, partners: int) -> None:
        key = lookup_form(values)
        found = self._state.get(key)
        self._state.put(key, (1 if found is None else found[0], partners))


class UniqueRows(JoinSide):
    """Rows that differ by a key: {unique key: row} or {unique key: (row, partners)}."""

    def __init__(
        self, state: MapState[Any, Any], counts_partners: bool, unique_key: tuple[int, ...],
        width: int,
    ):  # fmt: skip
        super().__init__(state, counts_partners)
        self._key_of = selector(unique_key)
        self._others = [column for column in range(width) if column not in unique_key]

    def add(self, values: Values, partners: int) -> None:
        key = lookup_form(self._key_of(values))
        self._state.put(key, (values, partners) if self._counts else values)

    def remove(self, values: Values) -> None:
        self._state.remove(lookup_form(self._key_of(values)))

    def matching(self, matches: Matches) -> list[Partner]:
        kept = self._state.values()
        pairs = kept if self._counts else ((values, 0) for values in kept)
        return [pair for pair in pairs if matches(pair[0])]

    def replaced_by(self, values: Values) -> Values | None:
        found = self._state.get(lookup_form(self._key_of(values)))
        if found is None:
            return None
        old: Values = found[0] if self._counts else found
        return old

    def named_by(self, values: Values) -> Values:
        if any(values[column] is not None for column in self._others):
            return values
        return self.replaced_by(values) or values

    def set_partners(self, values: Values, partners: int) -> None:
        self.add(values, partners)


def join_side(ctx: Context, name: str, side: JoinInput, counts_partners: bool) -> JoinSide:
    """The state of one side of a join."""
    key, count = side.unique_key, Types.LONG()
    named_by = side.types if key is None else [side.types[column] for column in key]
    kept = count if key is None else values_state_type(side.types)
    if counts_partners:
        kept = Types.TUPLE([kept, count])
    rows = MapStateDescriptor(name, lookup_state_type(named_by), kept)
    state = ctx.keyed_state(with_ttl(rows, side.ttl_ms))
    if key is None:
        return CountedRows(state, counts_partners)
    return UniqueRows(state, counts_partners, key, len(side.types))
