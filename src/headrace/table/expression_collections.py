"""Expressions: arrays, maps, rows and bitmaps."""

from __future__ import annotations

from typing import Any, Self

from headrace.sql import unresolved as un
from headrace.table.expression_base import Derived, ExpressionBase, said

FLATTEN = "$FLATTEN"
"""A row's fields as columns; only an item of select()."""


class CollectionExpressions(ExpressionBase):
    """Functions of values with parts."""

    cardinality: Derived[Self] = Derived("CARDINALITY", "How many elements it has.")
    element: Derived[Self] = Derived("ELEMENT", "The only element of an array.")
    flatten: Derived[Self] = Derived(FLATTEN, "The fields of a row as columns of their own.")
    map_keys: Derived[Self] = Derived("MAP_KEYS", "The keys of a map.")
    map_values: Derived[Self] = Derived("MAP_VALUES", "The values of a map.")
    map_entries: Derived[Self] = Derived("MAP_ENTRIES", "The entries of a map as rows.")

    def get(self, name_or_index: str | int) -> Self:
        """A field of a row."""
        return self._made(un.FieldOf(self._node, name_or_index))  # type: ignore[arg-type]

    def at(self, index: Any) -> Self:
        """An element by its index, from 1, or by its key."""
        return self._apply("ITEM", index)

    def __getitem__(self, index: Any) -> Self:
        return self.at(index)

    def array_append(self, addition: Any) -> Self:
        return self._apply("ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Self:
        return self._apply("ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Self:
        return self._apply("ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Self:
        return self._apply("ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Self:
        return self._apply("ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Self:
        return self._apply("ARRAY_REMOVE", needle)

    def array_reverse(self) -> Self:
        return self._apply("ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Self:
        return self._apply("ARRAY_SLICE", start_offset, said(end_offset))

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Self:
        return self._apply("ARRAY_SORT", said(ascending_order), said(null_first))

    def array_union(self, array: Any) -> Self:
        return self._apply("ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Self:
        return self._apply("ARRAY_CONCAT", *arrays)

    def array_max(self) -> Self:
        return self._apply("ARRAY_MAX")

    def array_min(self) -> Self:
        return self._apply("ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Self:
        return self._apply("ARRAY_JOIN", delimiter, said(null_replacement))

    def array_except(self, array: Any) -> Self:
        return self._apply("ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Self:
        return self._apply("ARRAY_INTERSECT", array)

    def map_union(self, *maps: Any) -> Self:
        return self._apply("MAP_UNION", *maps)

    def object_update(self, *kv: Any) -> Self:
        """An object with other values of some attributes: names and values in turn."""
        return self._apply("OBJECT_UPDATE", *kv)

    # Bitmaps: sets of numbers.

    def bitmap_and(self, bitmap2: Any) -> Self:
        return self._apply("BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Self:
        return self._apply("BITMAP_ANDNOT", bitmap2)

    def bitmap_or(self, bitmap2: Any) -> Self:
        return self._apply("BITMAP_OR", bitmap2)

    def bitmap_xor(self, bitmap2: Any) -> Self:
        return self._apply("BITMAP_XOR", bitmap2)

    def bitmap_and_agg(self) -> Self:
        return self._apply("BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Self:
        return self._apply("BITMAP_AND_CARDINALITY_AGG")

    def bitmap_or_agg(self) -> Self:
        return self._apply("BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Self:
        return self._apply("BITMAP_OR_CARDINALITY_AGG")

    def bitmap_xor_agg(self) -> Self:
        return self._apply("BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Self:
        return self._apply("BITMAP_XOR_CARDINALITY_AGG")

    def bitmap_build(self) -> Self:
        return self._apply("BITMAP_BUILD")

    def bitmap_build_agg(self) -> Self:
        return self._apply("BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Self:
        return self._apply("BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_cardinality(self) -> Self:
        return self._apply("BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Self:
        return self._apply("BITMAP_FROM_BYTES")

    def bitmap_to_array(self) -> Self:
        return self._apply("BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Self:
        return self._apply("BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Self:
        return self._apply("BITMAP_TO_STRING")
