"""The types of SQL columns, as Flink names them.

A value of a column is kept in its *internal form*, which operators, state and compiled
expressions share:

| type | internal form |
|---|---|
| BOOLEAN, TINYINT … BIGINT, FLOAT, DOUBLE, DECIMAL | bool, int, float, decimal.Decimal |
| CHAR, VARCHAR (STRING) / BINARY, VARBINARY (BYTES) | str / bytes |
| DATE | int: days since 1970-01-01 |
| TIME | int: milliseconds of the day |
| TIMESTAMP, TIMESTAMP_LTZ | int: nanoseconds since 1970-01-01, of wall-clock time and of UTC |
| INTERVAL YEAR TO MONTH / DAY TO SECOND | int: months / milliseconds |
| ARRAY, ROW | tuple |
| MAP, MULTISET | dict (of a multiset: element to count) |
| BITMAP | frozenset of int |
| VARIANT | `headrace.core.variant.Variant` |
| RAW | any object |
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

STRING_LENGTH = 2**31 - 1
REGULAR, ROWTIME, PROCTIME = "regular", "rowtime", "proctime"


@dataclass(frozen=True, kw_only=True)
class LogicalType:
    """A type; `str()` gives Flink's summary, such as `DECIMAL(10, 2) NOT NULL`."""

    nullable: bool = True

    def name(self) -> str:
        """The type without its nullability."""
        return type(self).__name__.removesuffix("Type").upper()

    def __str__(self) -> str:
        return self.name() if self.nullable else f"{self.name()} NOT NULL"

    def with_nullable(self, nullable: bool) -> Self:
        return self if nullable == self.nullable else replace(self, nullable=nullable)

    def not_null(self) -> Self:
        return self.with_nullable(False)


@dataclass(frozen=True)
class NullType(LogicalType):
    """Of the literal NULL that was not cast."""

    def name(self) -> str:
        return "NULL"


@dataclass(frozen=True)
class BooleanType(LogicalType):
    def name(self) -> str:
        return "BOOLEAN"


@dataclass(frozen=True)
class CharType(LogicalType):
    length: int = 1

    def name(self) -> str:
        return f"CHAR({self.length})"


@dataclass(frozen=True)
class VarCharType(LogicalType):
    length: int = STRING_LENGTH

    def name(self) -> str:
        return "STRING" if self.length == STRING_LENGTH else f"VARCHAR({self.length})"


@dataclass(frozen=True)
class BinaryType(LogicalType):
    length: int = 1

    def name(self) -> str:
        return f"BINARY({self.length})"


@dataclass(frozen=True)
class VarBinaryType(LogicalType):
    length: int = STRING_LENGTH

    def name(self) -> str:
        return "BYTES" if self.length == STRING_LENGTH else f"VARBINARY({self.length})"


@dataclass(frozen=True)
class TinyIntType(LogicalType):
    def name(self) -> str:
        return "TINYINT"


@dataclass(frozen=True)
class SmallIntType(LogicalType):
    def name(self) -> str:
        return "SMALLINT"


@dataclass(frozen=True)
class IntType(LogicalType):
    def name(self) -> str:
        return "INT"


@dataclass(frozen=True)
class BigIntType(LogicalType):
    def name(self) -> str:
        return "BIGINT"


@dataclass(frozen=True)
class FloatType(LogicalType):
    def name(self) -> str:
        return "FLOAT"


@dataclass(frozen=True)
class DoubleType(LogicalType):
    def name(self) -> str:
        return "DOUBLE"


@dataclass(frozen=True)
class DecimalType(LogicalType):
    precision: int = 10
    scale: int = 0

    def name(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class DateType(LogicalType):
    def name(self) -> str:
        return "DATE"


@dataclass(frozen=True)
class TimeType(LogicalType):
    precision: int = 0

    def name(self) -> str:
        return f"TIME({self.precision})"


@dataclass(frozen=True)
class TimestampType(LogicalType):
    """`kind` says whether the column is a time attribute: ROWTIME has a watermark."""

    precision: int = 6
    kind: str = REGULAR

    def name(self) -> str:
        mark = "" if self.kind == REGULAR else f" *{self.kind.upper()}*"
        return f"TIMESTAMP({self.precision}){mark}"


@dataclass(frozen=True)
class ZonedTimestampType(LogicalType):
    precision: int = 6

    def name(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"


@dataclass(frozen=True)
class LocalZonedTimestampType(LogicalType):
    """`kind` says whether the column is a time attribute; PROCTIME() is one."""

    precision: int = 6
    kind: str = REGULAR

    def name(self) -> str:
        mark = "" if self.kind == REGULAR else f" *{self.kind.upper()}*"
        return f"TIMESTAMP_LTZ({self.precision}){mark}"


@dataclass(frozen=True)
class YearMonthIntervalType(LogicalType):
    """`resolution` is the text after INTERVAL, such as `YEAR(2) TO MONTH`."""

    resolution: str = "YEAR(4) TO MONTH"

    def name(self) -> str:
        return f"INTERVAL {self.resolution}"


@dataclass(frozen=True)
class DayTimeIntervalType(LogicalType):
    """`resolution` is the text after INTERVAL, such as `DAY(2) TO SECOND(3)`."""

    resolution: str = "DAY(2) TO SECOND(6)"

    def name(self) -> str:
        return f"INTERVAL {self.resolution}"


@dataclass(frozen=True)
class ArrayType(LogicalType):
    element: LogicalType

    def name(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class MapType(LogicalType):
    key: LogicalType
    value: LogicalType

    def name(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class MultisetType(LogicalType):
    element: LogicalType

    def name(self) -> str:
        return f"MULTISET<{self.element}>"


@dataclass(frozen=True)
class Field:
    """A named column of a row or a table."""

    name: str
    type: LogicalType
    description: str | None = None

    def __str__(self) -> str:
        quoted = self.name.replace("`", "``")
        text = "" if self.description is None else " '" + self.description.replace("'", "''") + "'"
        return f"`{quoted}` {self.type}{text}"


@dataclass(frozen=True)
class RowType(LogicalType):
    fields: tuple[Field, ...] = ()

    def name(self) -> str:
        return f"ROW<{', '.join(map(str, self.fields))}>"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def types(self) -> tuple[LogicalType, ...]:
        return tuple(field.type for field in self.fields)

    @classmethod
    def of(cls, *types: LogicalType, nullable: bool = True) -> RowType:
        """With fields named f0, f1, …"""
        fields = tuple(Field(f"f{index}", type) for index, type in enumerate(types))
        return cls(fields, nullable=nullable)


@dataclass(frozen=True)
class RawType(LogicalType):
    """Any object, as Python pickles it."""

    class_name: str = "[B"
    """Of the Java class; PyFlink holds what Python pickled as bytes."""

    def name(self) -> str:
        return f"RAW('{self.class_name}', '...')"


@dataclass(frozen=True)
class BitmapType(LogicalType):
    def name(self) -> str:
        return "BITMAP"


@dataclass(frozen=True)
class VariantType(LogicalType):
    def name(self) -> str:
        return "VARIANT"


@dataclass(frozen=True)
class DescriptorType(LogicalType):
    """Of DESCRIPTOR(a, b): a list of column names."""

    def name(self) -> str:
        return "DESCRIPTOR"


BOOLEAN, TINYINT, SMALLINT, INT, BIGINT = (
    BooleanType(), TinyIntType(), SmallIntType(), IntType(), BigIntType(),
)  # fmt: skip
FLOAT, DOUBLE, STRING, BYTES, DATE = (
    FloatType(), DoubleType(), VarCharType(), VarBinaryType(), DateType(),
)  # fmt: skip
NULL = NullType()

INTEGERS = (TinyIntType, SmallIntType, IntType, BigIntType)
APPROXIMATE = (FloatType, DoubleType)
NUMERIC = (*INTEGERS, *APPROXIMATE, DecimalType)
CHARACTERS = (CharType, VarCharType)
BINARIES = (BinaryType, VarBinaryType)
TIMESTAMPS = (TimestampType, LocalZonedTimestampType)
DATETIMES = (DateType, TimeType, *TIMESTAMPS)
INTERVALS = (YearMonthIntervalType, DayTimeIntervalType)


def is_rowtime(type: LogicalType) -> bool:
    return isinstance(type, TIMESTAMPS) and type.kind == ROWTIME


def is_proctime(type: LogicalType) -> bool:
    return isinstance(type, TIMESTAMPS) and type.kind == PROCTIME


def is_time_attribute(type: LogicalType) -> bool:
    return isinstance(type, TIMESTAMPS) and type.kind != REGULAR


def materialized(type: LogicalType) -> LogicalType:
    """The same without being a time attribute."""
    return replace(type, kind=REGULAR) if isinstance(type, TIMESTAMPS) else type
