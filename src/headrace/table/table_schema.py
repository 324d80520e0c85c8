"""TableSchema: names and types of columns, in the form older programs use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.core.logical_types import Field
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin
from headrace.table.data_types import DataType, RowField, RowType, checked_type
from headrace.table.type_mapping import data_type_of

__all__ = ["TableSchema"]


class TableSchema:
    """Names and types of columns."""

    def __init__(
        self, field_names: Sequence[str] | None = None,
        data_types: Sequence[DataType] | None = None,
    ) -> None:  # fmt: skip
        self._names = list(field_names or ())
        self._types = [checked_type(type) for type in data_types or ()]
        if len(self._names) != len(self._types):
            raise InvalidArgument(
                f"{len(self._names)} names and {len(self._types)} types do not fit",
                origin=calling_origin(),
            )

    @staticmethod
    def of_fields(fields: Iterable[Field]) -> TableSchema:
        pairs = [(field.name, data_type_of(field.type)) for field in fields]
        return TableSchema([name for name, _ in pairs], [type for _, type in pairs])

    def copy(self) -> TableSchema:
        return TableSchema(self._names, self._types)

    def get_field_count(self) -> int:
        return len(self._names)

    def get_field_names(self) -> list[str]:
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """The name of the column at a position; None if there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def get_field_data_types(self) -> list[DataType]:
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of a column by its position or name; None if there is none."""
        if not isinstance(field, int | str):
            raise TypeMismatch(
                f"a column is named by its position or name, not {field!r}",
                origin=calling_origin(),
            )
        if isinstance(field, str):
            return self._types[self._names.index(field)] if field in self._names else None
        return self._types[field] if 0 <= field < len(self._types) else None

    def to_row_data_type(self) -> RowType:
        """The type of the rows, which are never NULL."""
        pairs = zip(self._names, self._types, strict=True)
        return RowType([RowField(name, type) for name, type in pairs], nullable=False)

    def __repr__(self) -> str:
        pairs = zip(self._names, self._types, strict=True)
        lines = [f" |-- {name}: {type.logical()}" for name, type in pairs]
        return "\n".join(["root", *lines]) + "\n"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableSchema):
            return NotImplemented
        return (self._names, self._types) == (other._names, other._types)

    def __hash__(self) -> int:
        return hash(repr(self))

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        return TableSchema.Builder()

    class Builder:
        """Says columns one by one."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            return TableSchema(self._names, self._types)
