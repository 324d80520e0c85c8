"""How tuples, rows, lists and maps lie in Arrow arrays: by the columns of their parts."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import accumulate, chain, pairwise
from operator import methodcaller
from typing import Any

import pyarrow as pa

from headrace.core.bulk_check import field_of
from headrace.core.columns import NONE, Column, DirectColumn, require_only, with_none
from headrace.core.composite_types import RowTypeInfo
from headrace.core.rows import Row, RowKind, named_row
from headrace.core.type_information import WrongValue

__all__ = ["ListColumn", "MapColumn", "RowColumn", "TupleColumn"]

_KINDS = {str(kind): kind for kind in RowKind}
_INSERT = RowKind.INSERT


class _Struct(Column):
    """Values of a fixed number of parts: one column for each."""

    def __init__(self, label: str, names: Iterable[str], columns: list[Column]):
        self.label, self.names, self.columns = label, tuple(names), columns
        fields = [
            pa.field(name, column.arrow) for name, column in zip(self.names, columns, strict=True)
        ]
        # Parquet has no struct without fields.
        self.arrow = pa.struct(fields or [pa.field("_empty", pa.bool_())])

    def encode_parts(self, values: list[Any], *, has_none: bool) -> pa.Array:
        """The array of values that are None or tuples with the right number of parts."""
        missing = None
        if has_none:
            missing = pa.array([value is None for value in values], pa.bool_())
            blank = (None,) * len(self.columns)
            values = [blank if value is None else value for value in values]
        arrays = [
            _inside(f"field {name!r}", column, field)
            for name, column, field in zip(
                self.names, self.columns, self._fields(values), strict=True
            )
        ]
        if not arrays:
            arrays = [pa.nulls(len(values), pa.bool_())]
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow), mask=missing)

    def _fields(self, values: list[Any]) -> list[list[Any]]:
        width = len(self.columns)
        try:
            if width or not any(values):
                return [field_of(place, width)(values) for place in range(width)]
        except ValueError:
            pass
        raise WrongValue(self.label, next(value for value in values if len(value) != width))

    def decode_parts(self, array: pa.Array) -> list[tuple[Any, ...]]:
        """The parts of each value; of None, any parts."""
        if not self.columns:
            return [()] * len(array)
        fields = [array.field(array.type.get_field_index(name)) for name in self.names]
        parts = [column.decode(field) for column, field in zip(self.columns, fields, strict=True)]
        return list(zip(*parts, strict=True))


def _inside(place: str, column: Column, values: list[Any]) -> pa.Array:
    try:
        return column.encode(values)
    except WrongValue as error:
        raise error.inside(place) from None


class TupleColumn(_Struct):
    def encode(self, values: list[Any]) -> pa.Array:
        has_none = require_only(tuple, self.label, values)
        return self.encode_parts(values, has_none=has_none)

    def _decode(self, array: pa.Array) -> list[Any]:
        return with_none(array, self.decode_parts(array))


class RowColumn(_Struct):
    """Rows, with their kind of change where it is not an insert."""

    def __init__(self, type_: RowTypeInfo, columns: list[Column]):
        self.row_names = type_.names() if type_.field_names else None
        kind = "_kind"
        while kind in type_.names():
            kind = "_" + kind
        kinds = DirectColumn("a kind of change", str, pa.string())
        super().__init__(type_.label(), (*type_.names(), kind), [*columns, kinds])

    def encode(self, values: list[Any]) -> pa.Array:
        has_none = require_only(Row, self.label, values)
        width, names = len(self.columns) - 1, self.row_names
        for value in values:
            if value is not None and (value._names != names or len(value._values) != width):
                raise WrongValue(self.label, value)
        parts = [
            None
            if row is None
            else (*row._values, None if row._row_kind is _INSERT else str(row._row_kind))
            for row in values
        ]
        return self.encode_parts(parts, has_none=has_none)

    def decode_parts(self, array: pa.Array) -> list[tuple[Any, ...]]:
        # Rows that another tool wrote have no kind.
        if array.type.get_field_index(self.names[-1]) < 0:
            plain = TupleColumn(self.label, self.names[:-1], self.columns[:-1])
            return [(*parts, None) for parts in plain.decode_parts(array)]
        return super().decode_parts(array)

    def _decode(self, array: pa.Array) -> list[Any]:
        names = self.row_names
        rows = [
            named_row(names, list(parts), _INSERT if kind is None else _KINDS[kind])
            for *parts, kind in self.decode_parts(array)
        ]
        return with_none(array, rows)


def _offsets(values: list[Any], *, has_none: bool) -> pa.Array:
    """Where each value's elements begin; nothing where there is no value."""
    if not has_none:
        plain = array("i", accumulate(map(len, values), initial=0))
        return pa.Array.from_buffers(pa.int32(), len(plain), [None, pa.py_buffer(plain)])
    lengths = (0 if value is None else len(value) for value in values)
    begins = accumulate(lengths, initial=0)
    return pa.array(
        [
            None if missing else begin
            for missing, begin in zip(
                chain((value is None for value in values), (False,)), begins, strict=True
            )
        ],
        pa.int32(),
    )


def _ranges(array: pa.Array) -> Iterable[tuple[int, int]]:
    return pairwise(array.offsets.to_numpy().tolist())


class ListColumn(Column):
    def __init__(self, label: str, element: Column, *, nullable: bool = True):
        self.label, self.element, self.nullable = label, element, nullable
        self.arrow = pa.list_(element.arrow)

    def encode(self, values: list[Any]) -> pa.Array:
        has_none = require_only(list, self.label, values)
        present = [value for value in values if value is not None] if has_none else values
        flat = list(chain.from_iterable(present))
        if not self.nullable and NONE in set(map(type, flat)):
            raise WrongValue(self.label, None)
        elements = _inside("an element", self.element, flat)
        offsets = _offsets(values, has_none=has_none)
        return pa.ListArray.from_arrays(offsets, elements, type=self.arrow)

    def _decode(self, array: pa.Array) -> list[Any]:
        flat = self.element.decode(array.values)
        return with_none(array, [flat[begin:end] for begin, end in _ranges(array)])


class MapColumn(Column):
    def __init__(self, label: str, key: Column, value: Column):
        self.label, self.key, self.value = label, key, value
        self.arrow = pa.map_(key.arrow, value.arrow)

    def encode(self, values: list[Any]) -> pa.Array:
        has_none = require_only(dict, self.label, values)
        present = [value for value in values if value is not None] if has_none else values
        keys = list(chain.from_iterable(present))
        if NONE in set(map(type, keys)):
            raise WrongValue("a key that is not None", None)
        items = list(chain.from_iterable(map(methodcaller("values"), present)))
        return pa.MapArray.from_arrays(
            _offsets(values, has_none=has_none),
            _inside("a key", self.key, keys),
            _inside("a value", self.value, items),
        ).cast(self.arrow)

    def _decode(self, array: pa.Array) -> list[Any]:
        keys, items = self.key.decode(array.keys), self.value.decode(array.items)
        return with_none(
            array,
            [
                dict(zip(keys[begin:end], items[begin:end], strict=True))
                for begin, end in _ranges(array)
            ],
        )
