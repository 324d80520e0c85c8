"""What a CSV file holds: its columns and the characters with a meaning."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.stream_types import declared_stream_type, logical_type_of_stream
from headrace.core.types import ListTypeInfo, RowTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.formats.csv_dialect import CsvDialect
from headrace.origin import calling_origin

__all__ = ["CsvSchema", "CsvSchemaBuilder"]

_NOT_NUMBERS = {BasicType.STRING, BasicType.BOOLEAN, BasicType.CHAR, BasicType.INSTANT}


@dataclass(frozen=True, slots=True)
class CsvSchema:
    """Columns in the order of the file, and how the file is written."""

    columns: tuple[tuple[str, TypeInformation], ...]
    dialect: CsvDialect = field(default_factory=CsvDialect)
    array_delimiters: tuple[tuple[str, str], ...] = ()
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False
    declared: tuple[tuple[str, lt.LogicalType], ...] = ()
    """Columns whose type is one of tables: a DECIMAL has digits, a BIG_DEC any number of them."""

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        return CsvSchemaBuilder()

    def row_type(self) -> RowTypeInfo:
        """The type of the rows."""
        names, types = zip(*self.columns, strict=True)
        if not self.declared:
            return Types.ROW_NAMED(list(names), list(types))
        declared = dict(self.declared)
        logical = (declared.get(name) or logical_type_of_stream(t) for name, t in self.columns)
        return RowTypeInfo(list(types), list(names), tuple(logical))

    def size(self) -> int:
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        columns = ", ".join(f"{name}: {kind.label()}" for name, kind in self.columns)
        return f"CsvSchema({columns})"


class CsvSchemaBuilder:
    """Settings of a CsvSchema."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, TypeInformation]] = []
        self._array_delimiters: dict[str, str] = {}
        self._dialect = CsvDialect()
        self._use_header = False
        self._strict_headers = False
        self._skip_first_data_row = False
        self._declared: dict[str, lt.LogicalType] = {}

    def build(self) -> CsvSchema:
        if not self._columns:
            raise InvalidArgument(
                "a CSV schema needs at least one column",
                origin=calling_origin(),
                hint="Add columns with add_string_column(name), add_number_column(name), …",
            )
        return CsvSchema(
            tuple(self._columns),
            self._dialect,
            tuple(self._array_delimiters.items()),
            self._use_header,
            self._strict_headers,
            self._skip_first_data_row,
            tuple(self._declared.items()),
        )

    def add_array_column(
        self, name: str, separator: str = ";", element_type: Any = None
    ) -> CsvSchemaBuilder:
        """Elements of one type, `DataTypes.STRING()` unless another one is given."""
        given = Types.STRING() if element_type is None else element_type
        kind = declared_stream_type(given, f"the elements of column {name!r}")
        self._add(name, ListTypeInfo(kind))
        if (logical := _logical(element_type)) is not None:
            self._declared[name] = lt.ArrayType(logical)
        self._array_delimiters[name] = separator
        return self

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """A number, `DataTypes.BIGINT()` unless another type is given."""
        given = Types.LONG() if number_type is None else number_type
        kind = declared_stream_type(given, f"the number column {name!r}")
        if not isinstance(kind, BasicTypeInfo) or kind.basic_type in _NOT_NUMBERS:
            raise TypeMismatch(
                f"the number column {name!r} cannot have the type {given!r}",
                origin=calling_origin(),
                hint="Use a type such as DataTypes.INT() or DataTypes.DOUBLE().",
            )
        if (logical := _logical(number_type)) is not None:
            self._declared[name] = logical
        return self._add(name, kind)

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        for name, kind in schema.columns:
            self._add(name, kind)
        self._array_delimiters.update(schema.array_delimiters)
        self._declared.update(schema.declared)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        self._columns.clear()
        self._array_delimiters.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        return self._change(comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Taken as in PyFlink, whose rows have no place for fields beyond the schema either: a line
        that has more of them than there are columns is an error, whatever they are called."""
        if not isinstance(name, str):
            raise TypeMismatch(
                f"the name of further fields is a text, not {name!r}", origin=calling_origin()
            )
        return self

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        return self.set_array_element_separator("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """The array column at this place holds a single element."""
        if not 0 <= index < len(self._columns):
            raise InvalidArgument(f"there is no column {index}", origin=calling_origin())
        self._array_delimiters[self._columns[index][0]] = ""
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """For every array column added so far."""
        self._array_delimiters = dict.fromkeys(self._array_delimiters, separator)
        return self._change(array_delimiter=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        return self._change(delimiter=char)

    def disable_escape_char(self) -> CsvSchemaBuilder:
        return self._change(escape=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        return self._change(escape=char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """For writing; reading takes every usual line end."""
        return self._change(line_end=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        return self._change(null_literal=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        return self._change(quote=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        return self._change(quote=char)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        self._skip_first_data_row = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """The header must have the schema's names in the schema's order."""
        self._strict_headers = strict
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """The first line of each file holds names, not data."""
        self._use_header = use
        return self

    def size(self) -> int:
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def _add(self, name: str, kind: TypeInformation) -> CsvSchemaBuilder:
        if any(name == known for known, _ in self._columns):
            raise InvalidArgument(
                f"the CSV schema already has a column {name!r}", origin=calling_origin()
            )
        self._columns.append((name, kind))
        return self

    def _change(self, **settings: object) -> CsvSchemaBuilder:
        self._dialect = replace(self._dialect, **settings)  # type: ignore[arg-type]
        return self


def _logical(given: Any) -> lt.LogicalType | None:
    """The type of columns that a table's DataType stands for."""
    logical = getattr(given, "logical", None)
    found: lt.LogicalType | None = logical() if callable(logical) else None
    return found
