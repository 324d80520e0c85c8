"""Rows and the kind of change they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from headrace.errors import InvalidArgument, TypeMismatch

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """What a row of a changelog says about the row it names."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SHORT_KINDS[self.value]


_SHORT_KINDS = ("+I", "-U", "+U", "-D")
_INSERT = RowKind.INSERT


class Row:
    """A fixed number of values, by position and, when named, by field name.

    >>> Row(name="Alice", age=11).age
    11
    >>> Person = Row("name", "age")
    >>> Person("Alice", 11)
    Row(name='Alice', age=11)
    """

    # `_names` is None for a row without names. A tuple, so that the rows of a stream share it
    # and a pickle of many rows holds it once.
    __slots__ = ("_names", "_row_kind", "_values")

    _names: tuple[str, ...] | None
    _values: list[Any]
    _row_kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            if args:
                raise InvalidArgument(
                    "a Row takes positional values or named values, not both",
                    hint="Name every field, or none.",
                )
            self._names = tuple(kwargs)
            self._values = list(kwargs.values())
        else:
            self._names = None
            self._values = list(args)
        self._row_kind = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def get_row_kind(self) -> RowKind:
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        self._row_kind = row_kind

    @property
    def _fields(self) -> list[str]:
        """The field names as PyFlink keeps them: absent, not empty, on a row without names."""
        if self._names is None:
            raise AttributeError("_fields")
        return list(self._names)

    @_fields.setter
    def _fields(self, names: Iterable[str] | None) -> None:
        self._names = None if names is None else tuple(names)

    def set_field_names(self, field_names: Sequence[str]) -> None:
        self._fields = field_names

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """The values of the named fields, in the order asked for."""
        if self._names is None or tuple(names) == self._names:
            return self._values
        return [self[name] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The fields by name; with `recursive`, rows inside become dictionaries as well."""
        if self._names is None:
            raise TypeMismatch(
                f"{self!r} has no field names and cannot become a dict",
                hint="Build it with named values, or call set_field_names() first.",
            )
        values = map(_plain, self._values) if recursive else self._values
        return dict(zip(self._names, values, strict=False))

    def _index(self, name: str) -> int:
        if self._names is None:
            raise AttributeError(f"the row has no field names, so no field {name!r}")
        try:
            return self._names.index(name)
        except ValueError:
            known = ", ".join(self._names) or "none"
            raise InvalidArgument(f"no field {name!r} in the row; its fields: {known}") from None

    def __getitem__(self, item: int | slice | str) -> Any:
        if item.__class__ is int or isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._index(item)]

    def __setitem__(self, key: int | slice | str, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        elif self._names is None:
            raise KeyError(key)
        else:
            self._values[self._index(key)] = value

    def __getattr__(self, item: str) -> Any:
        # Private names never reach the fields: unpickling and copying ask for them first.
        if item.startswith("_") or self._names is None or item not in self._names:
            raise AttributeError(item)
        return self._values[self._names.index(item)]

    def __call__(self, *args: Any) -> Row:
        """A row whose names are this row's values."""
        if len(args) > len(self._values):
            raise InvalidArgument(
                f"{self!r} names {len(self._values)} fields but was given {len(args)} values"
            )
        return named_row(tuple(self._values), list(args), self._row_kind)

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._names is None else self._names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if self._names is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        pairs = zip(self._names, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or self._row_kind is not other._row_kind:
            return False
        if self._names == other._names:
            return self._values == other._values
        if self._names is None or other._names is None:
            return False
        # Named rows are equal whatever the order of their fields.
        return sorted(self._names) == sorted(other._names) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        if self._names is None:
            return hash(tuple(self._values))
        return hash(frozenset(zip(self._names, self._values, strict=False)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Most rows are inserts: their pickle does not name the kind.
        if self._row_kind is _INSERT:
            if self._names is None:
                return Row, tuple(self._values)
            return named_row, (self._names, self._values)
        return named_row, (self._names, self._values, self._row_kind)


def named_row(
    names: tuple[str, ...] | None, values: list[Any], kind: RowKind = RowKind.INSERT
) -> Row:
    """A row that keeps `names` and `values` themselves, without copying them."""
    row = Row.__new__(Row)
    row._names = names
    row._values = values
    row._row_kind = kind
    return row


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
