"""State as rows of typed columns: the form it has in a savepoint.

One row for each value, each list, each entry of a map, each timer. The columns that depend on the
program (key, window, key of a map, value) have the type that all of the table's values share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import pyarrow as pa

from headrace.core.columnar import (
    column_of,
    holds_pickles,
    observed,
    text_of,
    type_from_json,
    type_to_json,
    unified,
)
from headrace.core.types import TypeInformation, Types
from headrace.core.windows import TimeWindow
from headrace.runtime.key_groups import key_groups
from headrace.runtime.pickling import ValuePickling
from headrace.runtime.subtask_state import (
    BROADCAST_PREFIX,
    LIST_PREFIX,
    TIMERS,
    UNION_PREFIX,
    WINDOW_PREFIX,
)

KEYED, WINDOW, BROADCAST, LIST, UNION = (
    "keyed", "window", "broadcast", "operator-list", "operator-union",
)  # fmt: skip
_PREFIXES = {WINDOW_PREFIX: WINDOW, BROADCAST_PREFIX: BROADCAST, LIST_PREFIX: LIST,
             UNION_PREFIX: UNION}  # fmt: skip
_PICKLED = Types.PICKLED_BYTE_ARRAY()
_TIME_WINDOW = Types.TUPLE([Types.LONG(), Types.LONG()])
"""Stands for windows that are all TimeWindows: two columns of numbers."""

Item = tuple[Any, ...]
"""(key, value) of value and list state, (key, entry, value) of a map, (domain, time, key).

Of operator state the key is the number of the subtask."""


def scope_and_name(stored_name: str) -> tuple[str, str]:
    """Of the name a table has: what its keys are, and the name the program gave it."""
    for prefix, scope in _PREFIXES.items():
        if stored_name.startswith(prefix):
            return scope, stored_name.removeprefix(prefix)
    return KEYED, stored_name


def stored_name(scope: str, name: str) -> str:
    """The opposite."""
    prefix = next((prefix for prefix, known in _PREFIXES.items() if known == scope), "")
    return prefix + name


@dataclass(frozen=True)
class RowForm:
    """How the items of one table are written as rows."""

    kind: str
    scope: str
    ttl: bool
    types: Mapping[str, TypeInformation]
    """Of the columns that depend on the program, by name."""

    @staticmethod
    def observe(kind: str, scope: str, ttl: bool, chunks: Iterable[list[Item]]) -> RowForm:
        """The form that fits all items."""
        types: dict[str, TypeInformation | None] = {}
        for items in chunks:
            for name, values in _free_columns(kind, scope, ttl, items).items():
                found = _observed(kind, name, values)
                known = types.get(name)
                types[name] = found if known is None else unified(known, found)
        names = _free_columns(kind, scope, ttl, [])
        return RowForm(kind, scope, ttl, {name: types.get(name) or _PICKLED for name in names})

    def unified(self, other: RowForm) -> RowForm:
        """The form for the items of both.

        Slots may disagree on whether values expire: some have not run since the program changed.
        """
        types = {name: unified(kind, other.types[name]) for name, kind in self.types.items()}
        return RowForm(self.kind, self.scope, self.ttl or other.ttl, types)

    def reencoded(
        self, old: RowForm, rows: pa.RecordBatch, max_parallelism: int, now: int
    ) -> pa.RecordBatch:
        """Rows of another form in this one; what had no age is young as of `now`."""
        items = old.decode(rows)
        if self.ttl and not old.ttl:
            items = [(*item[:-1], [(now, value) for value in item[-1]] if self.kind == "list"
                      else (now, item[-1])) for item in items]  # fmt: skip
        return self.encode(items, max_parallelism, 0)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "scope": self.scope, "ttl": self.ttl,
                **{name: type_to_json(kind) for name, kind in self.types.items()}}  # fmt: skip

    @staticmethod
    def from_json(form: Mapping[str, Any]) -> RowForm:
        kind, scope, ttl = form["kind"], form["scope"], form["ttl"]
        names = _free_columns(kind, scope, ttl, [])
        return RowForm(kind, scope, ttl, {name: type_from_json(form[name]) for name in names})

    @property
    def schema(self) -> pa.Schema:
        return self.encode([], 1, 0).schema

    def encode(self, items: list[Item], max_parallelism: int, first: int) -> pa.RecordBatch:
        """Items as rows; `first` is the number of the first of them within its table."""
        free = _free_columns(self.kind, self.scope, self.ttl, items)
        columns: dict[str, pa.Array] = {}
        for name, values in free.items():
            columns.update(_encoded(name, self.types[name], values))
        if self.scope in (KEYED, WINDOW):
            groups = key_groups(lambda: free["key"], max_parallelism, columns["key"])
            columns = {"key_group": groups, **columns}
        if self.kind == TIMERS:
            columns["domain"] = pa.array([item[0] for item in items], pa.string())
            columns["time"] = pa.array([item[1] for item in items], pa.int64())
        if self.kind in (TIMERS, "map"):
            columns["position"] = pa.array(range(first, first + len(items)), pa.int64())
        if self.ttl:
            columns["expires_from"] = _ages(self.kind, items)
        return pa.RecordBatch.from_pydict(columns)

    def key_groups(self, rows: pa.RecordBatch, max_parallelism: int) -> pa.Array:
        """The key groups the rows belong to, whatever they were when they were stored."""
        return key_groups(
            lambda: _decoded("key", self.types["key"], rows), max_parallelism, rows.column("key")
        )

    @property
    def plain(self) -> bool:
        """Whether rows can be read without any of the program's classes."""
        return not any(holds_pickles(kind) for kind in self.types.values())

    def change(self, rows: pa.RecordBatch) -> tuple[Any, ...]:
        """The logged change that puts rows into an empty table."""
        if self.kind == "value" and self.scope == KEYED and not self.ttl:
            # The most common case, without a tuple for each row.
            keys, values = (_decoded(name, self.types[name], rows) for name in ("key", "value"))
            return dict(zip(keys, values, strict=True)), []
        return as_change(self.kind, self.decode(rows))

    def decode(self, rows: pa.RecordBatch) -> list[Item]:
        """The items that rows stand for."""
        free = {name: _decoded(name, kind, rows) for name, kind in self.types.items()}
        count = rows.num_rows
        keys = free.get("key") or free.get("subtask") or [None] * count
        if "namespace" in free:
            keys = list(zip(keys, free["namespace"], strict=True))
        if self.kind == TIMERS:
            domains, times = (rows.column(name).to_pylist() for name in ("domain", "time"))
            return list(zip(domains, times, keys, strict=True))
        values = free["value"]
        if self.ttl:
            ages = rows.column("expires_from").to_pylist()
            values = [list(zip(age, value, strict=True)) if self.kind == "list" else (age, value)
                      for age, value in zip(ages, values, strict=True)]  # fmt: skip
        if self.kind == "map":
            return list(zip(keys, free["map_key"], values, strict=True))
        return list(zip(keys, values, strict=True))


def _free_columns(kind: str, scope: str, ttl: bool, items: list[Item]) -> dict[str, list[Any]]:
    """What the program's own objects are put into, by column."""
    columns: dict[str, list[Any]] = {}
    keys = _parts(items, 2 if kind == TIMERS else 0)
    if scope == KEYED:
        columns["key"] = keys
    if scope == WINDOW:
        columns["key"] = [key for key, _ in keys]
        columns["namespace"] = [window for _, window in keys]
    if scope in (LIST, UNION):
        columns["subtask"] = keys
    if kind == "map":
        columns["map_key"] = _parts(items, 1)
    if kind != TIMERS:
        stored = _parts(items, -1)
        if ttl and kind == "list":
            stored = [[value for _, value in values] for values in stored]
        elif ttl:
            stored = [value for _, value in stored]
        columns["value"] = stored
    return columns


def _parts(items: list[Item], at: int) -> list[Any]:
    return list(map(itemgetter(at), items))


def _ages(kind: str, items: list[Item]) -> pa.Array:
    if kind == "list":
        ages = [[age for age, _ in item[-1]] for item in items]
        return pa.array(ages, pa.list_(pa.int64()))
    return pa.array([item[-1][0] for item in items], pa.int64())


def _observed(kind: str, name: str, values: list[Any]) -> TypeInformation:
    if name == "namespace" and values and all(type(value) is TimeWindow for value in values):
        return _TIME_WINDOW
    if name == "value" and kind == "list":
        return Types.LIST(observed([value for each in values for value in each]))
    return observed(values)


def _encoded(name: str, kind: TypeInformation, values: list[Any]) -> dict[str, pa.Array]:
    if name == "namespace" and kind == _TIME_WINDOW:
        return {"window_start": pa.array([window[0] for window in values], pa.int64()),
                "window_end": pa.array([window[1] for window in values], pa.int64())}  # fmt: skip
    # By name: what a class is, the program says that starts from the savepoint.
    columns = {name: column_of(kind, ValuePickling().dumps).encode(values)}
    if kind == _PICKLED:
        columns[f"{name}_text"] = pa.array([text_of(value) for value in values], pa.string())
    return columns


def _decoded(name: str, kind: TypeInformation, rows: pa.RecordBatch) -> list[Any]:
    if name == "namespace" and kind == _TIME_WINDOW:
        starts, ends = (rows.column(end).to_pylist() for end in ("window_start", "window_end"))
        return [TimeWindow(start, end) for start, end in zip(starts, ends, strict=True)]
    return column_of(kind).decode(rows.column(name))


def items_of(table: Any) -> Iterator[Item]:
    """All that a table or a queue of timers holds."""
    if table.kind == TIMERS:
        return (timer for part in table.snapshot(10_000) for timer in part[0])
    if table.kind == "map":
        return ((key, name, value) for key, entries in table.data.items()
                for name, value in entries.items())  # fmt: skip
    return iter(table.data.items())


def chunked(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


def as_change(kind: str, items: list[Item]) -> tuple[Any, ...]:
    """The logged change that puts items into an empty table."""
    if kind == TIMERS:
        return items, []
    if kind == "map":
        entries: dict[Any, dict[Any, Any]] = {}
        for key, name, value in items:
            entries.setdefault(key, {})[name] = value
        return [], entries, {}
    return (dict(items), []) if kind == "value" else (dict(items), {})
