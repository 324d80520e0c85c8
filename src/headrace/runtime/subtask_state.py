"""All state of one subtask: tables and timers by operator uid, with their common log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.core.operator import KeyScope
from headrace.core.state import (
    AggregatingStateDescriptor,
    BroadcastState,
    K,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    S,
    StateDescriptor,
    T,
    V,
)
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin
from headrace.runtime.backends import Backend, HeapBackend
from headrace.runtime.declared_state import Declared, changed_kind, follow
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
TIMERS_NAME = "_timers"
"""Where a state has its name."""
_STORED_AS = {"reducing": "value", "aggregating": "value"}
BROADCAST_PREFIX = "broadcast:"
LIST_PREFIX = "list:"
UNION_PREFIX = "union:"
"""Before the names of operator state that is dealt out, or given to all, at another parallelism."""
WINDOW_PREFIX = "window:"
"""Before the name of state that is kept for each key and window: its keys are such pairs."""

Changes = list[tuple[str, str, str, tuple[Any, ...]]]
"""(operator uid, state name, kind, change) in order."""


class SubtaskState:
    """The working state of a subtask. Give it changes to catch up, take changes to log them."""

    def __init__(self, *, logged: bool, clock: Callable[[], int], backend: Backend | None = None):
        self._logged = logged
        self._clock = clock
        self._backend = backend or HeapBackend()
        self._tables: dict[tuple[str, str], Table] = {}
        self._timers: dict[str, TimerQueue] = {}
        self._scopes: dict[str, KeyScope] = {}
        self._declared: dict[tuple[str, str], Declared] = {}
        self._stored: dict[tuple[str, str], Declared] = {}
        """As it was declared when it was stored, of states the program has not asked for yet."""
        self._by_others = False
        self._described: dict[tuple[str, str], Declared] | None = None

    def scope(self, uid: str) -> KeyScope:
        return self._scopes.setdefault(uid, KeyScope())

    def window_scope(self, uid: str) -> KeyScope:
        """The scope whose current key is a pair of the current key and window."""
        return self.scope(WINDOW_PREFIX + uid)

    def timers(self, uid: str, scope: KeyScope | None = None) -> TimerQueue:
        """The timers of an operator, of its keys unless another scope is given."""
        if uid not in self._timers:
            self._described = None
            self._timers[uid] = TimerQueue(scope or self.scope(uid), logged=self._logged)
        return self._timers[uid]

    def table(self, uid: str, name: str, kind: str) -> Table:
        table = self._tables.get((uid, name))
        if table is None:
            data = self._mapping(uid, name, kind)
            table = self._tables[uid, name] = TABLES[kind](logged=self._logged, data=data)
        elif table.kind != kind and (uid, name) in self._stored:
            raise changed_kind(f"state {name!r} of the operator with uid {uid!r}", table.kind, kind)
        elif table.kind != kind:
            raise InvalidArgument(
                f"state {name!r} is a {table.kind} state, not a {kind} state",
                origin=calling_origin(),
                hint="Give the new state another name, or keep its kind.",
            )
        return table

    def _mapping(self, uid: str, name: str, kind: str) -> Any:
        if name.startswith((BROADCAST_PREFIX, LIST_PREFIX, UNION_PREFIX)):
            return {}  # as in Flink, operator state is in memory whatever the backend
        return self._backend.mapping(kind, f"state {name!r} of the operator with uid {uid!r}")

    def close(self) -> None:
        """Give back what the backend holds; what it held cannot be read any more."""
        self._backend.close()

    def keyed(self, uid: str, descriptor: StateDescriptor[S]) -> S:
        """The state object for a descriptor, scoped to the operator's current key."""
        if not isinstance(descriptor, StateDescriptor):
            raise TypeMismatch(
                f"a state descriptor was expected, not {descriptor!r}", origin=calling_origin(),
                hint="For instance ValueStateDescriptor('count', Types.LONG()).",
            )  # fmt: skip
        state: S = self._state(uid, descriptor.name, descriptor, self.scope(uid))
        return state

    def windowed(self, uid: str, descriptor: StateDescriptor[S]) -> S:
        """The state object for a descriptor, scoped to the current key and window."""
        name = WINDOW_PREFIX + descriptor.name
        state: S = self._state(uid, name, descriptor, self.window_scope(uid))
        return state

    def broadcast(self, uid: str, descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Broadcast state: the same entries whatever the current key."""
        name = BROADCAST_PREFIX + descriptor.name
        state: BroadcastState[K, V] = self._state(uid, name, descriptor, _everywhere())
        return state

    def operator_list(
        self, uid: str, descriptor: ListStateDescriptor[T], *, union: bool
    ) -> ListState[T]:
        """List state of the operator's instance, whatever the current key."""
        prefix, other = (UNION_PREFIX, LIST_PREFIX) if union else (LIST_PREFIX, UNION_PREFIX)
        if (uid, other + descriptor.name) in self._tables:
            raise InvalidArgument(
                f"state {descriptor.name!r} is a {'' if union else 'union '}list state already, "
                f"not a {'union ' if union else ''}list state", origin=calling_origin(),
                hint="Give the new state another name, or keep asking for it the same way.",
            )  # fmt: skip
        name = prefix + descriptor.name
        state: ListState[T] = self._state(uid, name, descriptor, _everywhere())
        return state

    def names(self, uid: str, *prefixes: str) -> set[str]:
        """The names of an operator's states of some scopes."""
        return {name.removeprefix(prefix) for owner, name in self._tables for prefix in prefixes
                if owner == uid and name.startswith(prefix)}  # fmt: skip

    def _state(self, uid: str, name: str, descriptor: StateDescriptor, scope: KeyScope) -> Any:
        """A state of the descriptor's kind; which type goes with a kind, the descriptors say."""
        if descriptor.name == TIMERS_NAME:
            raise InvalidArgument(
                f"a state cannot be called {TIMERS_NAME!r}: timers are kept under this name",
                origin=calling_origin(),
            )
        kind = _STORED_AS.get(descriptor.kind, descriptor.kind)
        table: Any = self.table(uid, name, kind)
        declared = Declared.of(kind, descriptor)
        if self._declared.get((uid, name)) != declared:
            self._declared[uid, name] = declared
            self._described = None
        if (uid, name) in self._stored:
            self._follow(uid, name)
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

    def described(self) -> dict[tuple[str, str], Declared]:
        """All states by operator and name, as they are declared; the same as long as they are."""
        if self._described is not None:
            return self._described
        timers = {
            (uid, TIMERS_NAME): Declared(
                TIMERS, "window" if queue.is_of(self.window_scope(uid)) else "keyed", False
            )
            for uid, queue in self._timers.items()
        }
        self._described = {**self._stored, **self._declared, **timers}
        return self._described

    def entries(self) -> dict[str, int]:
        """How many entries each operator has in all its states."""
        found: dict[str, int] = {}
        for (uid, _), table in self._tables.items():
            found[uid] = found.get(uid, 0) + len(table.data)
        return found

    def contents_by_state(self) -> Iterator[tuple[str, str, Table | TimerQueue]]:
        """Everything, as (operator uid, name, table or timers)."""
        for (uid, name), table in self._tables.items():
            yield uid, name, table
        for uid, queue in self._timers.items():
            yield uid, TIMERS_NAME, queue

    def reconcile(self, stored: Mapping[tuple[str, str], Declared], *, by_others: bool) -> None:
        """After state was read: let it follow what the program declares now."""
        self._stored, self._by_others, self._described = dict(stored), by_others, None
        for uid, name in self._declared.keys() & stored.keys():
            self._follow(uid, name)

    def _follow(self, uid: str, name: str) -> None:
        self._described = None
        stored, declared = self._stored.pop((uid, name)), self._declared[uid, name]
        if stored != declared or self._by_others:
            what = f"state {name!r} of the operator with uid {uid!r}"
            table = self._tables[uid, name]
            follow(table, stored, declared, self._clock(), what, by_others=self._by_others)

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
                continue
            asked = self._tables.get((uid, name))
            if asked is not None and asked.kind != kind:
                raise changed_kind(f"state {name!r} of the operator with uid {uid!r}", kind,
                                   asked.kind)  # fmt: skip
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
        return {} if table is None else table.contents()


def _everywhere() -> KeyScope:
    scope = KeyScope()
    scope.key = None
    return scope
