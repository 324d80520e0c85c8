"""The types of columns as programs write them, each over a logical type."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Self, overload

from headrace.core import logical_types as lt
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin
from headrace.table.sql_values import from_sql_value, is_converted, to_sql_value


class DataType:
    """A type of values. Two are equal if their classes and parameters are."""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @abstractmethod
    def logical(self) -> lt.LogicalType:
        """The type as queries know it."""

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__.removesuffix("Type").upper()

    def not_null(self) -> Self:
        return self._with(False)

    def nullable(self) -> Self:
        return self._with(True)

    def _with(self, nullable: bool) -> Self:
        made = self.__class__.__new__(self.__class__)
        vars(made).update(vars(self))
        made._nullable = nullable
        return made

    def bridged_to(self, conversion_cls: str) -> Self:
        """Which class of the JVM holds a value is of no consequence here."""
        return self

    def need_conversion(self) -> bool:
        """Whether a value of a program has another form in SQL."""
        return is_converted(self.logical())

    def to_sql_type(self, obj: Any) -> Any:
        """A value of a program as SQL has it, times and intervals in microseconds."""
        return to_sql_value(obj, self.logical())

    def from_sql_type(self, obj: Any) -> Any:
        """What to_sql_type() gives as programs see it."""
        return from_sql_value(obj, self.logical())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        shown = [repr(value) for name, value in vars(self).items() if name != "_nullable"]
        return f"{type(self).__name__}({', '.join([*shown, str(self._nullable).lower()])})"

    def __str__(self) -> str:
        return self.type_name()


class AtomicType(DataType):
    """A type without parts."""

    of: lt.LogicalType

    def logical(self) -> lt.LogicalType:
        return self.of.with_nullable(self._nullable)


class NumericType(AtomicType):
    """Numbers."""


class IntegralType(NumericType):
    """Whole numbers."""


class FractionalType(NumericType):
    """Numbers with a fraction."""


class NullType(AtomicType):
    of = lt.NULL

    def __init__(self) -> None:
        super().__init__(True)


class BooleanType(AtomicType):
    of = lt.BOOLEAN


class TinyIntType(IntegralType):
    of = lt.TINYINT


class SmallIntType(IntegralType):
    of = lt.SMALLINT


class IntType(IntegralType):
    of = lt.INT


class BigIntType(IntegralType):
    of = lt.BIGINT


class FloatType(FractionalType):
    of = lt.FLOAT


class DoubleType(FractionalType):
    of = lt.DOUBLE


class DateType(AtomicType):
    of = lt.DATE


class _Sized(AtomicType):
    """A type with a length."""

    made: type[lt.CharType | lt.VarCharType | lt.BinaryType | lt.VarBinaryType]

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 1 <= length <= lt.STRING_LENGTH:
            raise InvalidArgument(
                f"a length lies between 1 and {lt.STRING_LENGTH}, not {length}",
                origin=calling_origin(),
            )
        self.length = length

    def logical(self) -> lt.LogicalType:
        return self.made(self.length, nullable=self._nullable)


class CharType(_Sized):
    made = lt.CharType


class VarCharType(_Sized):
    made = lt.VarCharType


class BinaryType(_Sized):
    made = lt.BinaryType


class VarBinaryType(_Sized):
    made = lt.VarBinaryType


class DecimalType(FractionalType):
    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            raise InvalidArgument(
                f"DECIMAL has 1 to 38 digits and a scale up to that, not ({precision}, {scale})",
                origin=calling_origin(),
            )
        self.precision = precision
        self.scale = scale

    def logical(self) -> lt.LogicalType:
        return lt.DecimalType(self.precision, self.scale, nullable=self._nullable)


class _Timed(AtomicType):
    """A type with digits of a second."""

    default = 6
    made: type[lt.TimeType | lt.TimestampType | lt.LocalZonedTimestampType | lt.ZonedTimestampType]

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 0 <= precision <= 9:
            raise InvalidArgument(
                f"a second has 0 to 9 digits, not {precision}", origin=calling_origin()
            )
        self.precision = precision

    def logical(self) -> lt.LogicalType:
        return self.made(self.precision, nullable=self._nullable)


class TimeType(_Timed):
    made = lt.TimeType

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)


class TimestampType(_Timed):
    made = lt.TimestampType


class LocalZonedTimestampType(_Timed):
    made = lt.LocalZonedTimestampType


class ZonedTimestampType(_Timed):
    made = lt.ZonedTimestampType


class ArrayType(DataType):
    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = checked_type(element_type)

    def logical(self) -> lt.LogicalType:
        return lt.ArrayType(self.element_type.logical(), nullable=self._nullable)


class MultisetType(DataType):
    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = checked_type(element_type)

    def logical(self) -> lt.LogicalType:
        return lt.MultisetType(self.element_type.logical(), nullable=self._nullable)


class MapType(DataType):
    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = checked_type(key_type)
        self.value_type = checked_type(value_type)

    def logical(self) -> lt.LogicalType:
        key, value = self.key_type.logical(), self.value_type.logical()
        return lt.MapType(key, value, nullable=self._nullable)


class ListViewType(DataType):
    """Of a list that an accumulator keeps."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__()
        self.element_type = checked_type(element_type)

    def logical(self) -> lt.LogicalType:
        return lt.ArrayType(self.element_type.logical())

    def __repr__(self) -> str:
        return f"ListViewType({self.element_type!r})"


class MapViewType(DataType):
    """Of a map that an accumulator keeps."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__()
        self.key_type = checked_type(key_type)
        self.value_type = checked_type(value_type)

    def logical(self) -> lt.LogicalType:
        return lt.MapType(self.key_type.logical(), self.value_type.logical())

    def __repr__(self) -> str:
        return f"MapViewType({self.key_type!r}, {self.value_type!r})"


class RowField:
    """A field of a row."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeMismatch(f"a field's name is a text, not {name!r}", origin=calling_origin())
        self.name = name
        self.data_type = checked_type(data_type)
        self.description = description

    def logical(self) -> lt.Field:
        return lt.Field(self.name, self.data_type.logical(), self.description)

    def need_conversion(self) -> bool:
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        return self.data_type.from_sql_type(obj)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        described = "..." if self.description is None else self.description
        return f"RowField({self.name}, {self.data_type!r}, {described})"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"


class RowType(DataType):
    """Named fields; also the type of a table's rows."""

    def __init__(self, fields: Sequence[Any] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = [_field(index, each) for index, each in enumerate(fields or ())]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """One more field, in place."""
        if isinstance(field, RowField):
            self.fields.append(field)
        elif data_type is None:
            raise InvalidArgument(f"which type has the field {field}?", origin=calling_origin())
        else:
            self.fields.append(RowField(field, data_type))
        return self

    @property
    def names(self) -> list[str]:
        return self.field_names()

    def field_names(self) -> list[str]:
        return [field.name for field in self.fields]

    def field_types(self) -> list[DataType]:
        return [field.data_type for field in self.fields]

    def logical(self) -> lt.RowType:
        return lt.RowType(tuple(f.logical() for f in self.fields), nullable=self._nullable)

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @overload
    def __getitem__(self, key: str | int) -> RowField: ...

    @overload
    def __getitem__(self, key: slice) -> RowType: ...

    def __getitem__(self, key: str | int | slice) -> RowField | RowType:
        if isinstance(key, slice):
            return RowType(self.fields[key])
        if isinstance(key, int):
            return self.fields[key]
        if not isinstance(key, str):
            raise TypeMismatch(
                f"a field is asked for by name or number, not {key!r}", origin=calling_origin()
            )
        for field in self.fields:
            if field.name == key:
                return field
        raise KeyError(f"No RowField named {key}")

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"


class RawType(DataType):
    """Any object, pickled where it is stored."""

    def logical(self) -> lt.LogicalType:
        return lt.RawType(nullable=self._nullable)

    def from_sql_type(self, obj: Any) -> Any:
        return pickle.loads(obj) if isinstance(obj, bytes) else obj


class LogicalDataType(DataType):
    """A type that PyFlink has no class for, such as BITMAP or VARIANT."""

    def __init__(self, of: lt.LogicalType) -> None:
        super().__init__(of.nullable)
        self.of = of

    def logical(self) -> lt.LogicalType:
        return self.of.with_nullable(self._nullable)

    def __str__(self) -> str:
        return self.of.name()


def checked_type(given: Any) -> DataType:
    if not isinstance(given, DataType):
        raise TypeMismatch(
            f"a type is needed, not {given!r}", origin=calling_origin(),
            hint="Types are made with DataTypes, such as DataTypes.INT().",
        )  # fmt: skip
    return given


def _field(index: int, given: Any) -> RowField:
    if isinstance(given, RowField):
        return given
    if isinstance(given, DataType):
        return RowField(f"f{index}", given)
    raise TypeMismatch(
        f"a field of a row is made with DataTypes.FIELD(name, type), not {given!r}",
        origin=calling_origin(),
    )
