"""Types that programs define: objects of a class, stored as another type."""

from __future__ import annotations

from typing import Any

from headrace.core import logical_types as lt
from headrace.core.rows import Row
from headrace.errors import UnfitValue, Unsupported
from headrace.origin import calling_origin
from headrace.table.data_types import ArrayType, DataType, MapType, MultisetType, RowType


class UserDefinedType(DataType):
    """A class of the program as a type of columns; queries know it as its `sql_type`.

    An object that has its type as the attribute `__UDT__` needs no schema.
    """

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """The type that values are stored as."""
        raise _unwritten(cls, "sql_type")

    @classmethod
    def module(cls) -> str:
        """The module it is defined in."""
        raise _unwritten(cls, "module")

    @classmethod
    def java_udt(cls) -> str:
        """A class of the JVM is never asked for."""
        return ""

    def serialize(self, obj: Any) -> Any:
        """An object as a value of `sql_type`."""
        raise _unwritten(type(self), "serialize")

    def deserialize(self, datum: Any) -> Any:
        """The object that a value of `sql_type` stands for."""
        raise _unwritten(type(self), "deserialize")

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        value = self.sql_type().from_sql_type(obj)
        return None if value is None else self.deserialize(value)

    def logical(self) -> lt.LogicalType:
        return self.sql_type().logical().with_nullable(self._nullable)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


def _unwritten(kind: type, method: str) -> Exception:
    return Unsupported(
        f"{kind.__name__} has no method {method}()", hint="Every UserDefinedType defines it."
    )


def own_type(value: Any) -> UserDefinedType | None:
    """The type that an object says it has."""
    found = getattr(value, "__UDT__", None)
    return found if isinstance(found, UserDefinedType) else None


def serialize_objects(value: Any, type: DataType | None = None) -> Any:
    """A value whose objects of user-defined types are values of what they are stored as."""
    found = type if isinstance(type, UserDefinedType) else own_type(value)
    if value is None:
        return None
    if found is not None:
        if own_type(value) != found:
            raise UnfitValue(
                f"{value!r:.120} is no {found.__class__.__name__}", origin=calling_origin(),
                hint="Its class says which type it has with the attribute __UDT__.",
            )  # fmt: skip
        return serialize_objects(found.serialize(value), found.sql_type())
    if isinstance(value, dict):
        types = type if isinstance(type, MapType) else None
        inner = types.value_type if types is not None else None
        fields = type if isinstance(type, RowType) else None
        return {
            name: serialize_objects(part, _field_type(fields, name) if fields else inner)
            for name, part in value.items()
        }
    if isinstance(value, list | tuple | Row):
        return _serialize_parts(value, type)
    return value


def _serialize_parts(value: Any, type: DataType | None) -> Any:
    parts = list(value)
    if isinstance(type, RowType):
        names = getattr(value, "_fields", None) or type.field_names()
        made = [
            serialize_objects(part, _field_type(type, name))
            for part, name in zip(parts, names, strict=False)
        ] + parts[len(names) :]
    else:
        element = type.element_type if isinstance(type, ArrayType | MultisetType) else None
        made = [serialize_objects(part, element) for part in parts]
    if all(new is old for new, old in zip(made, parts, strict=True)):
        return value
    if isinstance(value, Row):
        row = Row.of_kind(value.get_row_kind(), *made)
        row._fields = getattr(value, "_fields", None)
        return row
    return made if isinstance(value, list) else tuple(made)


def _field_type(type: RowType, name: str) -> DataType | None:
    return next((field.data_type for field in type.fields if field.name == name), None)
