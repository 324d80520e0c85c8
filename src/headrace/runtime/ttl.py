"""State that expires: each value is stored with the time it was last made young."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.core.state import BroadcastState, ListState, ValueState
from headrace.core.state_ttl import StateTtlConfig, TtlStateVisibility, TtlUpdateType
from headrace.runtime.state import HeapListState, HeapMapState, HeapValueState
from headrace.runtime.tables import Table

Clock = Callable[[], int]
Aged = tuple[int, Any]
_END = object()
_FRESH = object()


class Expiry:
    """The rules of one state's time to live."""

    def __init__(self, config: StateTtlConfig, clock: Clock):
        self._ttl = config.milliseconds()
        self.clock = clock
        self.on_read = config.update_type is TtlUpdateType.OnReadAndWrite
        self.shows_expired = config.visibility is TtlStateVisibility.ReturnExpiredIfNotCleanedUp
        cleanup = config.cleanup.get_incremental_cleanup_strategy()
        self.sweep_size = cleanup.cleanup_size if cleanup is not None else 0

    def aged(self, value: Any) -> Aged:
        return self.clock(), value

    def expired(self, stored: Aged) -> bool:
        return stored[0] + self._ttl <= self.clock()

    def any_expired(self, several: Iterable[Aged]) -> bool:
        return any(map(self.expired, several))


class Sweeper:
    """Looks at a few entries on each access and drops those that have expired.

    `stale` says whether what a key holds has anything to drop, `drop` drops it.
    """

    def __init__(
        self, table: Table, expiry: Expiry, stale: Callable[[Any], bool],
        drop: Callable[[Any], None],
    ):  # fmt: skip
        self._table = table
        self._expiry = expiry
        self._stale = stale
        self._drop = drop
        self._keys: Iterator[Any] = iter(())

    def step(self) -> None:
        for _ in range(self._expiry.sweep_size):
            key = next(self._keys, _END)  # None is a key, too
            if key is _END:
                self._keys = self._candidates()
                return
            if key is not _FRESH and key in self._table.data:
                self._drop(key)

    def _candidates(self) -> Iterator[Any]:
        if self._table.in_memory:
            return iter(list(self._table.data))
        # What lies on disk is read in order, so that looking at it does not crowd the cache.
        return (key if self._stale(stored) else _FRESH for key, stored in self._table.data.items())


class TtlValueState(ValueState[Any]):
    """A value that expires."""

    def __init__(self, inner: HeapValueState, expiry: Expiry):
        self._inner = inner
        self._expiry = expiry
        self._sweeper = Sweeper(inner._table, expiry, expiry.expired, self._drop_if_expired)

    def _drop_if_expired(self, key: Any) -> None:
        if self._expiry.expired(self._inner._table.data[key]):
            self._inner._table.remove(key)

    def value(self) -> Any:
        stored = self._inner.value()
        self._sweeper.step()
        if stored is None:
            return None
        if self._expiry.expired(stored):
            self._inner.clear()
            return stored[1] if self._expiry.shows_expired else None
        if self._expiry.on_read:
            self._inner.update(self._expiry.aged(stored[1]))
        return stored[1]

    def update(self, value: Any) -> None:
        self._inner.update(None if value is None else self._expiry.aged(value))
        self._sweeper.step()

    def clear(self) -> None:
        self._inner.clear()


class TtlListState(ListState[Any]):
    """A list whose elements expire one by one."""

    def __init__(self, inner: HeapListState, expiry: Expiry):
        self._inner = inner
        self._expiry = expiry
        self._sweeper = Sweeper(inner._table, expiry, expiry.any_expired, self._drop_if_expired)

    def _drop_if_expired(self, key: Any) -> None:
        stored = self._inner._table.data[key]
        fresh = [item for item in stored if not self._expiry.expired(item)]
        if len(fresh) < len(stored):
            self._inner._table.put(key, fresh)

    def get(self) -> list[Any]:
        stored = self._inner.get()
        self._sweeper.step()
        fresh = [item for item in stored if not self._expiry.expired(item)]
        shown = fresh
        if self._expiry.on_read and fresh:
            self._inner.update([self._expiry.aged(item[1]) for item in fresh])
        elif self._expiry.shows_expired:
            shown = stored
            if stored and not fresh:
                self._inner.clear()  # one that is fresh keeps all others in sight
        elif len(fresh) < len(stored):
            self._inner.update(fresh)
        return [item[1] for item in shown]

    def add(self, value: Any) -> None:
        self._inner.add(self._expiry.aged(value))
        self._sweeper.step()

    def add_all(self, values: Iterable[Any]) -> None:
        self._inner.add_all([self._expiry.aged(value) for value in values])

    def update(self, values: Iterable[Any]) -> None:
        self._inner.update([self._expiry.aged(value) for value in values])

    def clear(self) -> None:
        self._inner.clear()


class TtlMapState(BroadcastState[Any, Any]):
    """A map whose entries expire one by one."""

    def __init__(self, inner: HeapMapState, expiry: Expiry):
        self._inner = inner
        self._expiry = expiry
        self._sweeper = Sweeper(
            inner._table, expiry, lambda entries: expiry.any_expired(entries.values()),
            self._drop_if_expired,
        )  # fmt: skip

    def _drop_if_expired(self, key: Any) -> None:
        table = self._inner._table
        for entry, stored in list(table.data[key].items()):
            if self._expiry.expired(stored):
                table.remove(key, entry)

    def _visible(self, key: Any, stored: Aged | None) -> bool:
        if stored is None:
            return False
        if self._expiry.expired(stored):
            self._inner.remove(key)
            return self._expiry.shows_expired
        return True

    def get(self, key: Any) -> Any:
        stored = self._inner.get(key)
        self._sweeper.step()
        if stored is None or not self._visible(key, stored):
            return None
        if self._expiry.on_read and self._inner.contains(key):
            self._inner.put(key, self._expiry.aged(stored[1]))
        return stored[1]

    def put(self, key: Any, value: Any) -> None:
        self._inner.put(key, self._expiry.aged(value))
        self._sweeper.step()

    def remove(self, key: Any) -> None:
        self._inner.remove(key)

    def contains(self, key: Any) -> bool:
        return self._visible(key, self._inner.get(key))

    def items(self) -> list[tuple[Any, Any]]:
        shown = [(k, v) for k, v in self._inner.items() if self._visible(k, v)]
        if self._expiry.on_read:
            for key, stored in shown:
                if self._inner.contains(key):
                    self._inner.put(key, self._expiry.aged(stored[1]))
        return [(key, stored[1]) for key, stored in shown]

    def clear(self) -> None:
        self._inner.clear()
