"""Working state, with a log of what changed since it was last made durable.

A table holds one named state for all keys of a subtask, in a dictionary or in what a state backend
gives it in place of one. Changes are what the log keeps; applying
them in order to an empty table gives the table again, so a snapshot is just one large change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any

Change = tuple[Any, ...]
_ALL = 1 << 62


class Table(ABC):
    """One state of one operator, for all keys of a subtask."""

    kind: str

    def __init__(self, *, logged: bool, data: Any = None):
        self.data: Any = {} if data is None else data
        self.logged = logged

    @property
    def in_memory(self) -> bool:
        return type(self.data) is dict

    def contents(self) -> dict[Any, Any]:
        """A copy of everything, for inspection."""
        return {key: value for part in _chunks(self.data, _ALL) for key, value in part.items()}

    @abstractmethod
    def take_changes(self) -> Change | None:
        """What changed since the last call, or None."""

    @abstractmethod
    def apply(self, change: Change) -> None:
        """Do what a logged change says."""

    @abstractmethod
    def snapshot(self, chunk: int) -> Iterator[Change]:
        """The whole table as changes of at most `chunk` keys."""

    def reset(self) -> None:
        """Forget everything, as if nothing had ever been stored."""
        self.data.clear()
        self.take_changes()


def _chunks(data: Any, size: int) -> Iterator[dict[Any, Any]]:
    if type(data) is not dict:
        yield from data.chunks(size)
        return
    items = iter(data.items())
    while part := dict(islice(items, size)):
        yield part


class ValueTable(Table):
    """One value per key."""

    kind = "value"

    def __init__(self, *, logged: bool, data: Any = None):
        super().__init__(logged=logged, data=data)
        self.changed: set[Any] = set()

    def put(self, key: Any, value: Any) -> None:
        self.data[key] = value
        if self.logged:
            self.changed.add(key)

    def put_all(self, values: Mapping[Any, Any]) -> None:
        self.data.update(values)
        if self.logged:
            self.changed.update(values)

    def remove(self, key: Any) -> None:
        if key in self.data:
            del self.data[key]
            if self.logged:
                self.changed.add(key)

    def take_out(self, keys: Sequence[Any]) -> list[Any]:
        """The values of these keys, or None; the table has them no more."""
        if self.logged:
            self.changed.update(keys)
        return list(map(self.data.pop, keys, repeat(None)))

    def take_changes(self) -> Change | None:
        if not self.changed:
            return None
        data = self.data
        try:
            present, absent = {key: data[key] for key in self.changed}, []
        except KeyError:  # some have been removed
            present = {key: data[key] for key in self.changed if key in data}
            absent = [key for key in self.changed if key not in data]
        self.changed = set()
        return present, absent

    def apply(self, change: Change) -> None:
        present, absent = change
        self.data.update(present)
        for key in absent:
            self.data.pop(key, None)

    def snapshot(self, chunk: int) -> Iterator[Change]:
        for part in _chunks(self.data, chunk):
            yield part, []


class ListTable(Table):
    """A list per key; appending logs only what was appended."""

    kind = "list"

    def __init__(self, *, logged: bool, data: Any = None):
        super().__init__(logged=logged, data=data)
        self.rewritten: set[Any] = set()
        self.appended: dict[Any, list[Any]] = {}

    def append(self, key: Any, values: list[Any]) -> None:
        if not values:
            return
        self.data.setdefault(key, []).extend(values)
        if self.logged and key not in self.rewritten:
            self.appended.setdefault(key, []).extend(values)

    def put(self, key: Any, values: list[Any] | None) -> None:
        """Replace the list of a key; None or an empty list removes it."""
        if values:
            self.data[key] = values
        elif self.data.pop(key, None) is None:
            return
        if self.logged:
            self.rewritten.add(key)
            self.appended.pop(key, None)

    def take_changes(self) -> Change | None:
        if not self.rewritten and not self.appended:
            return None
        change = ({key: self.data.get(key) for key in self.rewritten}, self.appended)
        self.rewritten, self.appended = set(), {}
        return change

    def apply(self, change: Change) -> None:
        rewritten, appended = change
        for key, values in rewritten.items():
            if values is None:
                self.data.pop(key, None)
            else:
                self.data[key] = list(values)
        for key, values in appended.items():
            self.data.setdefault(key, []).extend(values)

    def snapshot(self, chunk: int) -> Iterator[Change]:
        for part in _chunks(self.data, chunk):
            yield part, {}


class MapTable(Table):
    """A map per key; changing an entry logs only that entry.

    The entries of a map keep the order in which they came into it, also through the log.
    """

    kind = "map"

    def __init__(self, *, logged: bool, data: Any = None):
        super().__init__(logged=logged, data=data)
        self.changed: dict[Any, dict[Any, bool]] = {}
        """By key and entry, whether the entry was removed since the last call."""
        self.cleared: set[Any] = set()

    def put(self, key: Any, entry: Any, value: Any) -> None:
        self.data.setdefault(key, {})[entry] = value
        if self.logged:
            changed = self.changed.get(key)
            if changed is None:
                self.changed[key] = {entry: False}
            elif entry not in changed:
                changed[entry] = False
            elif changed[entry]:  # it came back, and comes last now
                del changed[entry]
                changed[entry] = True

    def remove(self, key: Any, entry: Any) -> None:
        entries = self.data.get(key)
        if entries is not None and entry in entries:
            del entries[entry]
            if not entries:
                del self.data[key]
            if self.logged:
                self.changed.setdefault(key, {})[entry] = True

    def clear(self, key: Any) -> None:
        if self.data.pop(key, None) is not None and self.logged:
            self.cleared.add(key)
            self.changed.pop(key, None)

    def take_changes(self) -> Change | None:
        if not self.changed and not self.cleared:
            return None
        put: dict[Any, dict[Any, Any]] = {}
        removed: dict[Any, list[Any]] = {}
        for key, entries in self.changed.items():
            now = self.data.get(key, {})
            try:
                put[key] = {entry: now[entry] for entry in entries}
            except KeyError:  # some have been removed
                put[key] = {entry: now[entry] for entry in entries if entry in now}
            if True in entries.values():
                removed[key] = [entry for entry, was_removed in entries.items() if was_removed]
        change = (list(self.cleared), put, removed)
        self.changed, self.cleared = {}, set()
        return change

    def apply(self, change: Change) -> None:
        cleared, put, removed = change
        for key in cleared:
            self.data.pop(key, None)
        # What is removed and put came back: it does not return to its old place.
        for key, names in removed.items():
            entries = self.data.get(key, {})
            for name in names:
                entries.pop(name, None)
            if not entries:
                self.data.pop(key, None)
        for key, entries in put.items():
            if entries:
                self.data.setdefault(key, {}).update(entries)

    def snapshot(self, chunk: int) -> Iterator[Change]:
        for part in _chunks(self.data, chunk):
            yield [], part, {}

    def contents(self) -> dict[Any, Any]:
        found: dict[Any, dict[Any, Any]] = {}
        for part in _chunks(self.data, _ALL):
            for key, entries in part.items():
                found.setdefault(key, {}).update(entries)
        return found


TABLES: dict[str, type[Table]] = {kind.kind: kind for kind in (ValueTable, ListTable, MapTable)}
