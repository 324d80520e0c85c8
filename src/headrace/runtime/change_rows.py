"""A change of one state as rows: what the files of checkpoints are made of.

Rows have the columns that they have in savepoints (`headrace.runtime.state_rows`), without those
that can be reckoned from others, and `change`, which says what a row does. Those that carry a value
come first. Here they are still lists of Python's; `headrace.runtime.change_tables` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain, islice, repeat
from operator import methodcaller
from typing import Any

from headrace.runtime.subtask_state import TIMERS
from headrace.runtime.tables import Change

WORDS = PUT, APPENDED, REMOVED, CLEARED = "put", "appended", "removed", "cleared"
"""What a row does, in the order of the rows: sets a value, an entry of a map or a timer, adds to a
list, takes something away, empties a map."""


@dataclass
class Rows:
    """A change taken apart."""

    counts: Mapping[str, int]
    """How many rows do what."""
    keys: list[Any]
    repeats: list[int] | None
    """Of a map: how many rows each key has, one after the other."""
    columns: Mapping[str, list[Any]]
    """More columns. Those at the end, that have nothing in a column, are left out there."""


def _value_rows(change: Change) -> Rows:
    present, absent = change
    counts = {PUT: len(present), REMOVED: len(absent)}
    return Rows(counts, [*present, *absent], None, {"value": list(present.values())})


def _value_change(rows: Rows) -> Change:
    present = rows.counts[PUT]
    return dict(zip(rows.keys, rows.columns["value"], strict=False)), rows.keys[present:]


def _list_rows(change: Change) -> Rows:
    rewritten, appended = change
    removed = [key for key, values in rewritten.items() if values is None]
    if removed:
        rewritten = {key: values for key, values in rewritten.items() if values is not None}
    counts = {PUT: len(rewritten), APPENDED: len(appended), REMOVED: len(removed)}
    values = [*rewritten.values(), *appended.values()]
    return Rows(counts, [*rewritten, *appended, *removed], None, {"value": values})


def _list_change(rows: Rows) -> Change:
    put, keys, values = rows.counts[PUT], rows.keys, rows.columns["value"]
    given = len(values)
    rewritten = dict(zip(keys[:put], values[:put], strict=True))
    rewritten.update(dict.fromkeys(keys[given:]))
    return rewritten, dict(zip(keys[put:given], values[put:], strict=True))


def _map_rows(change: Change) -> Rows:
    cleared, put, removed = change
    put = {key: entries for key, entries in put.items() if entries}
    removed = {key: names for key, names in removed.items() if names}
    many = [list(map(len, each.values())) for each in (put, removed)]
    counts = {PUT: sum(many[0]), REMOVED: sum(many[1]), CLEARED: len(cleared)}
    names = list(chain.from_iterable(chain(put.values(), removed.values())))
    values = list(chain.from_iterable(map(methodcaller("values"), put.values())))
    repeats = [*many[0], *many[1], *repeat(1, len(cleared))]
    return Rows(counts, [*put, *removed, *cleared], repeats, {"map_key": names, "value": values})


def _map_change(rows: Rows) -> Change:
    put: dict[Any, dict[Any, Any]] = {}
    removed: dict[Any, list[Any]] = {}
    cleared: list[Any] = []
    names, values, done = iter(rows.columns["map_key"]), iter(rows.columns["value"]), 0
    upto_put, upto_removed = rows.counts[PUT], rows.counts[PUT] + rows.counts[REMOVED]
    for key, many in zip(rows.keys, rows.repeats or (), strict=True):
        if done < upto_put:
            put[key] = dict(zip(islice(names, many), values, strict=False))
        elif done < upto_removed:
            removed[key] = list(islice(names, many))
        else:
            cleared.append(key)
        done += many
    return cleared, put, removed


def _timer_rows(change: Change) -> Rows:
    set_, unset = change
    timers = [*set_, *unset]
    columns = {
        "domain": [domain for domain, _, _ in timers],
        "time": [time for _, time, _ in timers],
    }
    keys = [key for _, _, key in timers]
    return Rows({PUT: len(set_), REMOVED: len(unset)}, keys, None, columns)


def _timer_change(rows: Rows) -> Change:
    timers = list(zip(rows.columns["domain"], rows.columns["time"], rows.keys, strict=True))
    put = rows.counts[PUT]
    return timers[:put], timers[put:]


def rows_of(kind: str, change: Change) -> Rows:
    """The rows of a change of a state of some kind."""
    return _SHAPES[kind][0](change)


def change_of(kind: str, rows: Rows) -> Change:
    """The opposite. Keys of maps that nothing was done to are gone."""
    return _SHAPES[kind][1](rows)


_SHAPES: dict[str, tuple[Callable[[Change], Rows], Callable[[Rows], Change]]] = {
    "value": (_value_rows, _value_change),
    "list": (_list_rows, _list_change),
    "map": (_map_rows, _map_change),
    TIMERS: (_timer_rows, _timer_change),
}
