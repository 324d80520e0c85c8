"""A change of one state as an Arrow table that says of itself what it is.

What is in the table, and of which types, stands in the metadata of its schema, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import accumulate, chain, pairwise, repeat
from sys import intern
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.core.columnar import type_from_json, type_to_json
from headrace.core.composite_types import ListTypeInfo, MapTypeInfo
from headrace.core.types import TypeInformation, Types
from headrace.core.windows import TimeWindow
from headrace.runtime.change_columns import decode_column, encode_column
from headrace.runtime.change_rows import (
    APPENDED,
    CLEARED,
    PUT,
    REMOVED,
    WORDS,
    Rows,
    change_of,
    rows_of,
)
from headrace.runtime.declared_state import Declared
from headrace.runtime.state_rows import KEYED, WINDOW, scope_and_name, stored_name
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from headrace.runtime.tables import Change

METADATA = b"headrace"
"""Where a schema says what the table is."""
_LONG, _TEXT = Types.LONG(), Types.STRING()
_START, _END = "window_start", "window_end"
_WORDS = pa.array(WORDS)
_FEW_WORDS = pa.dictionary(pa.int8(), pa.string())

Columns = dict[str, tuple[TypeInformation, pa.Array]]
"""By name: what the values are, and the values."""


def encode_table(
    uid: str, stored: str, kind: str, change: Change, declared: Declared | None
) -> pa.RecordBatch:
    """A change of the state that an operator stores under a name."""
    scope, name = scope_and_name(stored)
    if kind == TIMERS:
        scope, name = (KEYED if declared is None else str(declared.type)), TIMERS_NAME
        declared = None
    rows = rows_of(kind, change)
    columns = _keys(rows, scope)
    if kind == TIMERS:
        columns["domain"] = _TEXT, _domains(rows.columns["domain"])
        columns["time"] = encode_column(rows.columns["time"], _LONG)
    else:
        columns |= _contents(rows, kind, declared)
    about = {
        "operator": uid, "state": name, "kind": kind, "scope": scope,
        "declared": None if declared is None else declared.type,
        "types": {name: type_to_json(type_) for name, (type_, _) in columns.items()},
    }  # fmt: skip
    count = sum(rows.counts.values())
    arrays = [_words(rows.counts), *(_filled(array, count) for _, array in columns.values())]
    fields = [pa.field(name, array.type)
              for name, array in zip(("change", *columns), arrays, strict=True)]  # fmt: skip
    return pa.RecordBatch.from_arrays(
        arrays, schema=pa.schema(fields, {METADATA: json.dumps(about)})
    )


def _words(counts: Mapping[str, int]) -> pa.Array:
    numbers = _bytes(b"".join(bytes([n]) * counts.get(word, 0) for n, word in enumerate(WORDS)))
    return pa.DictionaryArray.from_arrays(numbers, _WORDS, safe=False)


def _domains(domains: list[Any]) -> pa.Array:
    if not domains or domains.count(domains[0]) < len(domains):
        return pa.array(domains, _FEW_WORDS)
    # Most often there is but one.
    return pa.DictionaryArray.from_arrays(_bytes(bytes(len(domains))), pa.array(domains[:1]))


def _bytes(numbers: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.int8(), len(numbers), [None, pa.py_buffer(numbers)])


def _filled(array: pa.Array, count: int) -> pa.Array:
    """The column with nothing in the rows at the end."""
    missing = count - len(array)
    return pa.concat_arrays([array, pa.nulls(missing, array.type)]) if missing else array


def _keys(rows: Rows, scope: str) -> Columns:
    """What says whose a row is; no column where it is the operator's own."""
    keys = rows.keys
    if scope not in (KEYED, WINDOW) and not set(map(type, keys)) - {type(None)}:
        return {}
    pairs = _split(keys) if scope == WINDOW else None
    if pairs is None:
        columns = {"key": encode_column(keys)}
    else:
        columns = {"key": encode_column(pairs[0]), **_windows(pairs[1])}
    if rows.repeats is None:
        return columns
    ends = pa.array(list(accumulate(rows.repeats, initial=0)), pa.int32())
    spread = pa.ListArray.from_arrays(ends, pa.nulls(sum(rows.repeats)))
    numbers = pc.list_parent_indices(spread).cast(pa.int32())
    return {name: (type_, pa.DictionaryArray.from_arrays(numbers, array, safe=False))
            for name, (type_, array) in columns.items()}  # fmt: skip


def _windows(windows: list[Any]) -> Columns:
    if not set(map(type, windows)) - {TimeWindow}:
        starts, ends = (encode_column([each[end] for each in windows], _LONG) for end in (0, 1))
        if starts[0] == ends[0] == _LONG:
            return {_START: starts, _END: ends}
    return {"namespace": encode_column(windows)}


def _contents(rows: Rows, kind: str, declared: Declared | None) -> Columns:
    """Keys of maps, values, and since when values that expire are young."""
    types = _declared_types(kind, declared)
    columns: Columns = {}
    if kind == "map":
        columns["map_key"] = encode_column(rows.columns["map_key"], types.get("map_key"))
    values = rows.columns["value"]
    if declared is not None and declared.ttl:
        aged = _split_lists(values) if kind == "list" else _split(values)
        wanted = ListTypeInfo(_LONG) if kind == "list" else _LONG
        ages = encode_column(aged[0], wanted) if aged else None
        if aged and ages and ages[0] == wanted:
            columns["expires_from"] = ages
            values = aged[1]
    columns["value"] = encode_column(values, types.get("value"), are_lists=kind == "list")
    return columns


def _declared_types(kind: str, declared: Declared | None) -> dict[str, TypeInformation]:
    if declared is None or declared.type is None:  # as a savepoint has it of what nobody declared
        return {}
    type_ = type_from_json(declared.type)
    if kind == "map" and isinstance(type_, MapTypeInfo):
        return {"map_key": type_.key_type_info, "value": type_.value_type_info}
    return {"value": ListTypeInfo(type_) if kind == "list" else type_}


def _split(values: list[Any]) -> tuple[list[Any], list[Any]] | None:
    """What stands first and second in tuples, if all are tuples of two."""
    if set(map(type, values)) - {tuple}:
        return None
    try:
        return [first for first, _ in values], [second for _, second in values]
    except ValueError:
        return None


def _split_lists(values: list[Any]) -> tuple[list[Any], list[Any]] | None:
    """The same in lists of tuples."""
    if set(map(type, values)) - {list}:
        return None
    parts = _split(list(chain.from_iterable(values)))
    if parts is None:
        return None
    bounds = list(pairwise(accumulate(map(len, values), initial=0)))
    first, second = ([part[begin:end] for begin, end in bounds] for part in parts)
    return first, second


def read_metadata(schema: pa.Schema) -> dict[str, Any]:
    """What a table says of itself."""
    found: dict[str, Any] = json.loads(schema.metadata[METADATA])
    return found


def decode_table(about: Mapping[str, Any], batch: pa.RecordBatch) -> tuple[str, str, str, Change]:
    """The operator, the name it stores the state under, its kind, and the change."""
    counts = _counts(batch.column("change"))
    with_value = counts[PUT] + counts[APPENDED]
    rows_with = {"value": with_value, "expires_from": with_value,
                 "map_key": counts[PUT] + counts[REMOVED]}  # fmt: skip
    columns: dict[str, list[Any]] = {}
    for name, type_ in about["types"].items():
        column = batch.column(name)
        if name == "domain":
            columns[name] = _decode_words(column)
            continue
        if isinstance(column, pa.DictionaryArray):
            column = column.dictionary
        columns[name] = decode_column(type_from_json(type_), column[: rows_with.get(name)])
    kind = about["kind"]
    keys, repeats = _decode_keys(kind, columns, counts, batch)
    if "expires_from" in columns:
        columns["value"] = _aged(kind, columns["expires_from"], columns["value"])
    change = change_of(kind, Rows(counts, keys, repeats, columns))
    stored = TIMERS if kind == TIMERS else stored_name(about["scope"], about["state"])
    return about["operator"], stored, kind, change


def _counts(words: pa.DictionaryArray) -> dict[str, int]:
    found = dict.fromkeys(words.dictionary.to_pylist(), 0)
    for each in words.value_counts().to_pylist():
        found[each["values"]] = each["counts"]
    return found


def _decode_words(words: pa.DictionaryArray) -> list[str]:
    known = [intern(word) for word in words.dictionary.to_pylist()]
    return [known[number] for number in words.indices.to_numpy().tolist()]


def _decode_keys(
    kind: str, columns: dict[str, list[Any]], counts: Mapping[str, int], batch: pa.RecordBatch
) -> tuple[list[Any], list[int] | None]:
    if "key" not in columns:
        if kind != "map":
            return [None] * batch.num_rows, None
        many = [counts[word] for word in (PUT, REMOVED, CLEARED) if counts[word]]
        return [None] * len(many), many
    keys = columns["key"]
    if _START in columns:
        bounds = zip(columns[_START], columns[_END], strict=True)
        # In C: a window is a tuple, and has nothing to add when it is made.
        columns["namespace"] = list(map(tuple.__new__, repeat(TimeWindow), bounds))
    if "namespace" in columns:
        keys = list(zip(keys, columns["namespace"], strict=True))
    if kind != "map":
        return keys, None
    # Each has rows, one after the other.
    return keys, batch.column("key").indices.value_counts().field("counts").to_pylist()


def _aged(kind: str, ages: list[Any], values: list[Any]) -> list[Any]:
    if kind == "list":
        return [list(zip(*each, strict=True)) for each in zip(ages, values, strict=True)]
    return list(zip(ages, values, strict=True))
