"""The state objects users hold, over tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from headrace.core.functions import AggregateFunction
from headrace.core.operator import KeyScope
from headrace.core.state import (
    AggregatingState,
    BroadcastState,
    ListState,
    ReducingState,
    ValuesByKey,
    ValueState,
)
from headrace.errors import StateAccessError
from headrace.origin import calling_origin
from headrace.runtime.tables import ListTable, MapTable, ValueTable

T = TypeVar("T", ListTable, MapTable)


def _no_key() -> StateAccessError:
    return StateAccessError(
        "keyed state was used where there is no current key", origin=calling_origin(),
        hint="Use it in process_element or on_timer, not in open(), close() or a broadcast call.",
    )  # fmt: skip


class HeapValueState(ValuesByKey[Any]):
    """One value per key, in memory."""

    __slots__ = ("_data", "_scope", "_table")

    def __init__(self, table: ValueTable, scope: KeyScope):
        self._table = table
        self._data = table.data  # a table keeps its data's container for life
        self._scope = scope

    def value(self) -> Any:
        try:
            return self._data.get(self._scope.key)
        except AttributeError:
            raise _no_key() from None

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        table = self._table
        try:
            key = self._scope.key
        except AttributeError:
            raise _no_key() from None
        self._data[key] = value
        if table.logged:
            table.changed.add(key)

    @property
    def in_memory(self) -> bool:
        return self._table.in_memory

    @property
    def value_of(self) -> Callable[[Any], Any]:
        get: Callable[[Any], Any] = self._data.get
        return get

    def put_all(self, values: Mapping[Any, Any]) -> None:
        self._table.put_all(values)

    def take_out(self, keys: Sequence[Any]) -> list[Any]:
        return self._table.take_out(keys)

    def clear(self) -> None:
        try:
            self._table.remove(self._scope.key)
        except AttributeError:
            raise _no_key() from None


class _Scoped(Generic[T]):
    """State of a table that is kept for the key of a scope."""

    def __init__(self, table: T, scope: KeyScope):
        self._table: T = table
        self._scope = scope

    def _key(self) -> Any:
        try:
            return self._scope.key
        except AttributeError:
            raise _no_key() from None


class HeapListState(_Scoped[ListTable], ListState[Any]):
    """A list per key, in memory."""

    def get(self) -> list[Any]:
        return list(self._table.data.get(self._key(), ()))

    def add(self, value: Any) -> None:
        self._table.append(self._key(), [value])

    def add_all(self, values: Iterable[Any]) -> None:
        self._table.append(self._key(), list(values))

    def update(self, values: Iterable[Any]) -> None:
        self._table.put(self._key(), list(values))

    def clear(self) -> None:
        self._table.put(self._key(), None)


class HeapMapState(_Scoped[MapTable], BroadcastState[Any, Any]):
    """A map per key, in memory; with a fixed key it is broadcast state."""

    def _entries(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self._table.data.get(self._key(), {})
        return found

    def get(self, key: Any) -> Any:
        return self._entries().get(key)

    def put(self, key: Any, value: Any) -> None:
        self._table.put(self._key(), key, value)

    def remove(self, key: Any) -> None:
        self._table.remove(self._key(), key)

    def contains(self, key: Any) -> bool:
        return key in self._entries()

    # Copies, so that a function may change the map while it walks over it.
    def items(self) -> Iterable[tuple[Any, Any]]:
        return list(self._entries().items())

    def keys(self) -> Iterable[Any]:
        return list(self._entries())

    def values(self) -> Iterable[Any]:
        return list(self._entries().values())

    def is_empty(self) -> bool:
        return not self._entries()

    def clear(self) -> None:
        self._table.clear(self._key())


class ReducingOverValue(ReducingState[Any]):
    """Reducing state kept in value state."""

    def __init__(self, value: ValueState[Any], reduce: Callable[[Any, Any], Any]):
        self._value = value
        self._reduce = reduce

    def get(self) -> Any:
        return self._value.value()

    def add(self, value: Any) -> None:
        old = self._value.value()
        self._value.update(value if old is None else self._reduce(old, value))

    def clear(self) -> None:
        self._value.clear()


class AggregatingOverValue(AggregatingState[Any, Any]):
    """Aggregating state: the accumulator is kept in value state."""

    def __init__(self, value: ValueState[Any], function: AggregateFunction):
        self._value = value
        self._function = function

    def get(self) -> Any:
        accumulator = self._value.value()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        accumulator = self._value.value()
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        self._value.update(self._function.add(value, accumulator))

    def accumulator(self) -> Any:
        """What is kept, to be merged into another key's or window's; None if nothing."""
        return self._value.value()

    def add_accumulator(self, other: Any) -> None:
        """Merge in what another accumulator holds."""
        own = self._value.value()
        self._value.update(other if own is None else self._function.merge(own, other))

    def clear(self) -> None:
        self._value.clear()
