"""All state of one subtask: tables and timers by operator uid, with their common log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core.operator import KeyScope
from headrace.core.state import (
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
)
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin
from headrace.runtime.state import (
    AggregatingOverValue,
    HeapListState,
    HeapMapState,
    HeapValueState,
    ReducingOverValue,
)
from headrace.runtime.tables import TABLES, Table
from headrace.runtime.timers import TimerQueue
from headrace.runtime.ttl import Expiry, TtlListState, TtlMapState, TtlValueState

TIMERS = "timers"
_STORED_AS = {"reducing": "value", "aggregating": "value"}
BROADCAST_PREFIX = "broadcast:"
WINDOW_PREFIX = "window:"
"""Before the name of state that is kept for each key and window: its keys are such pairs."""

Changes = list[tuple[str, str, str, tuple[Any, ...]]]
"""(operator uid, state name, kind, change) in order."""


class SubtaskState:
    """The working state of a subtask. Give it changes to catch up, take changes to log them."""

    def __init__(self, *, logged: bool, clock: Callable[[], int]):
        self._logged = logged
        self._clock = clock
        self._tables: dict[tuple[str, str], Table] = {}
        self._timers: dict[str, TimerQueue] = {}
        self._scopes: dict[str, KeyScope] = {}

    def scope(self, uid: str) -> KeyScope:
        return self._scopes.setdefault(uid, KeyScope())

    def window_scope(self, uid: str) -> KeyScope:
        """The scope whose current key is a pair of the current key and window."""
        return self.scope(WINDOW_PREFIX + uid)

    def timers(self, uid: str, scope: KeyScope | None = None) -> TimerQueue:
        """The timers of an operator, of its keys unless another scope is given."""
        if uid not in self._timers:
            self._timers[uid] = TimerQueue(scope or self.scope(uid), logged=self._logged)
        return self._timers[uid]

    def table(self, uid: str, name: str, kind: str) -> Table:
        table = self._tables.get((uid, name))
        if table is None:
            table = self._tables[uid, name] = TABLES[kind](logged=self._logged)
        elif table.kind != kind:
            raise InvalidArgument(
                f"state {name!r} is a {table.kind} state, not a {kind} state",
                origin=calling_origin(),
                hint="Give the new state another name, or keep its kind.",
            )
        return table

    def keyed(self, uid: str, descriptor: StateDescriptor) -> State:
        """The state object for a descriptor, scoped to the operator's current key."""
        if not isinstance(descriptor, StateDescriptor):
            raise TypeMismatch(
                f"a state descriptor was expected, not {descriptor!r}", origin=calling_origin(),
                hint="For instance ValueStateDescriptor('count', Types.LONG()).",
            )  # fmt: skip
        return self._state(uid, descriptor.name, descriptor, self.scope(uid))

    def windowed(self, uid: str, descriptor: StateDescriptor) -> State:
        """The state object for a descriptor, scoped to the current key and window."""
        return self._state(uid, WINDOW_PREFIX + descriptor.name, descriptor, self.window_scope(uid))

    def broadcast(self, uid: str, descriptor: StateDescriptor) -> State:
        """Broadcast state: the same entries whatever the current key."""
        everywhere = KeyScope()
        everywhere.key = None
        return self._state(uid, BROADCAST_PREFIX + descriptor.name, descriptor, everywhere)

    def _state(self, uid: str, name: str, descriptor: StateDescriptor, scope: KeyScope) -> State:
        kind = _STORED_AS.get(descriptor.kind, descriptor.kind)
        table: Any = self.table(uid, name, kind)
        expiry = None if descriptor.ttl is None else Expiry(descriptor.ttl, self._clock)
        if kind == "list":
            items = HeapListState(table, scope)
            return items if expiry is None else TtlListState(items, expiry)
        if kind == "map":
            entries = HeapMapState(table, scope)
            return entries if expiry is None else TtlMapState(entries, expiry)
        plain = HeapValueState(table, scope)
        value = plain if expiry is None else TtlValueState(plain, expiry)
        if isinstance(descriptor, ReducingStateDescriptor):
            return ReducingOverValue(value, descriptor.reducer())
        if isinstance(descriptor, AggregatingStateDescriptor):
            return AggregatingOverValue(value, descriptor.get_agg_function())
        return value

    def take_changes(self) -> Changes:
        """What changed since the last call."""
        changes: Changes = []
        for (uid, name), table in self._tables.items():
            change = table.take_changes()
            if change is not None:
                changes.append((uid, name, table.kind, change))
        for uid, timers in self._timers.items():
            change = timers.take_changes()
            if change is not None:
                changes.append((uid, TIMERS, TIMERS, change))
        return changes

    def apply(self, changes: Changes) -> None:
        """Catch up with logged changes."""
        for uid, name, kind, change in changes:
            if kind == TIMERS:
                self.timers(uid).apply(change)
            else:
                self.table(uid, name, kind).apply(change)

    def snapshot(self, chunk: int) -> Iterator[Changes]:
        """Everything, as changes of at most `chunk` keys each."""
        for (uid, name), table in self._tables.items():
            for change in table.snapshot(chunk):
                yield [(uid, name, table.kind, change)]
        for uid, timers in self._timers.items():
            for change in timers.snapshot(chunk):
                yield [(uid, TIMERS, TIMERS, change)]

    def reset(self) -> None:
        for table in self._tables.values():
            table.reset()
        for timers in self._timers.values():
            timers.reset()

    def contents(self, uid: str, name: str) -> dict[Any, Any]:
        """A copy of one state, for inspection."""
        table = self._tables.get((uid, name))
        return {} if table is None else dict(table.data)
