"""Python objects as rows: their types, where none are declared, and their values."""

from __future__ import annotations

import array
import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.given_values import from_python
from headrace.core.rows import Row
from headrace.core.table_values import nullable
from headrace.core.time import Instant
from headrace.errors import InvalidArgument, TypeMismatch, UnfitValue
from headrace.origin import calling_origin
from headrace.table.type_mapping import inferred_atom
from headrace.table.user_defined_types import own_type

_BITS: dict[type[lt.LogicalType], int] = {
    lt.TinyIntType: 8,
    lt.SmallIntType: 16,
    lt.IntType: 32,
    lt.BigIntType: 64,
}
_KINDS: tuple[tuple[tuple[type[lt.LogicalType], ...], tuple[type, ...]], ...] = (
    ((lt.BooleanType,), (bool,)),
    ((lt.FloatType, lt.DoubleType), (float, int)),
    ((lt.DecimalType,), (Decimal, int)),
    ((lt.CharType, lt.VarCharType), (str,)),
    ((lt.BinaryType, lt.VarBinaryType), (bytes, bytearray)),
    ((lt.DateType,), (datetime.date, datetime.datetime)),
    ((lt.TimeType,), (datetime.time,)),
    ((lt.TimestampType,), (datetime.datetime, datetime.date)),
    ((lt.LocalZonedTimestampType,), (datetime.datetime, datetime.date, Instant)),
    ((lt.DayTimeIntervalType,), (datetime.timedelta,)),
    ((lt.ArrayType,), (list, tuple, array.array)),
    ((lt.MapType, lt.MultisetType), (dict,)),
)
_WITH_LENGTH = (lt.CharType, lt.VarCharType, lt.BinaryType, lt.VarBinaryType)


def inferred_row_type(elements: Sequence[Any], names: Sequence[str] | None = None) -> lt.RowType:
    """The type of rows that all elements fit."""
    if not elements:
        raise InvalidArgument(
            "types cannot be inferred of no elements",
            origin=calling_origin(),
            hint="Give a schema: DataTypes.ROW([DataTypes.FIELD(...), ...]).",
        )
    found: lt.LogicalType = _row_type(elements[0], names)
    for element in elements[1:]:
        found = _merged(found, _row_type(element, names), "a row")
    assert isinstance(found, lt.RowType)
    for field in found.fields:
        if isinstance(field.type, lt.NullType):
            raise InvalidArgument(
                f"column {field.name} is None in all elements: its type cannot be inferred",
                origin=calling_origin(),
                hint="Give a schema with DataTypes.",
            )
    return found


def _row_type(element: Any, names: Sequence[str] | None = None) -> lt.RowType:
    if isinstance(element, dict):
        items = sorted(element.items())
    elif isinstance(element, Row | tuple | list):
        own = getattr(element, "_fields", None)
        if own is None:
            own = list(names or ())
            own += [f"_{index + 1}" for index in range(len(own), len(element))]
        items = list(zip(own, element, strict=False))
    elif hasattr(element, "__dict__"):
        items = sorted(vars(element).items())
    else:
        raise TypeMismatch(
            f"{element!r} is no row",
            origin=calling_origin(),
            hint="Rows are tuples, lists, dictionaries or Row objects.",
        )
    return lt.RowType(tuple(lt.Field(name, _inferred(value)) for name, value in items))


def _inferred(value: Any) -> lt.LogicalType:
    found = inferred_atom(value)
    if found is not None:
        return found
    own = own_type(value)
    if own is not None:
        return own.logical()
    if isinstance(value, Instant):
        return lt.LocalZonedTimestampType(9)
    if isinstance(value, dict):
        keys: lt.LogicalType = lt.NULL
        values: lt.LogicalType = lt.NULL
        for key, item in value.items():
            keys = _merged(keys, _inferred(key), "a map")
            values = _merged(values, _inferred(item), "a map")
        return lt.MapType(keys.not_null(), values)
    if isinstance(value, list):
        element: lt.LogicalType = lt.NULL
        for item in value:
            element = _merged(element, _inferred(item), "an array")
        return lt.ArrayType(element)
    if isinstance(value, array.array):
        return lt.ArrayType(_machine_type(value).not_null())
    return _row_type(value)


def _machine_type(numbers: array.array[Any]) -> lt.LogicalType:
    """The type of numbers as a machine holds them; without a sign they need the next larger one."""
    code = numbers.typecode
    if code in "fd":
        return lt.FLOAT if code == "f" else lt.DOUBLE
    if code in "uw":
        return lt.CharType(numbers.itemsize)
    bits = numbers.itemsize * 8 + (1 if code.isupper() else 0)
    for kind, held in ((lt.TINYINT, 8), (lt.SMALLINT, 16), (lt.INT, 32), (lt.BIGINT, 64)):
        if bits <= held:
            return kind
    raise TypeMismatch(
        f"no type of columns holds the numbers of an array of typecode {code!r}",
        origin=calling_origin(),
        hint="Use an array with a sign, such as array('q', …).",
    )


def _merged(left: lt.LogicalType, right: lt.LogicalType, where: str) -> lt.LogicalType:
    if isinstance(left, lt.NullType) or left == right:
        return right
    if isinstance(right, lt.NullType):
        return left
    match left, right:
        case lt.RowType(), lt.RowType():
            mine = {field.name: field.type for field in left.fields}
            for field in right.fields:
                mine[field.name] = _merged(mine.get(field.name, lt.NULL), field.type, field.name)
            return lt.RowType(tuple(lt.Field(name, type) for name, type in mine.items()))
        case lt.ArrayType(), lt.ArrayType():
            return lt.ArrayType(_merged(left.element, right.element, where))
        case lt.MapType(), lt.MapType():
            return lt.MapType(
                _merged(left.key, right.key, where), _merged(left.value, right.value, where)
            )
    raise TypeMismatch(
        f"{where} is {left} in one element and {right} in another",
        origin=calling_origin(),
        hint="Give a schema with DataTypes, and values that fit it.",
    )


def internal_rows(
    elements: Sequence[Any], row: lt.RowType, verify: bool = True
) -> list[tuple[Any, ...]]:
    """The elements in internal form."""
    convert = from_python(row)
    assert convert is not None
    check = verifier(row, "the row") if verify else None
    rows = []
    for position, element in enumerate(elements):
        shaped = _shaped(element, row)
        try:
            if check is not None:
                check(shaped)
            rows.append(convert(shaped))
        except TypeMismatch as error:
            raise error.public()(
                f"element {position}: {error.message}", origin=calling_origin(), hint=error.hint
            ) from None
        except (TypeError, ValueError, ArithmeticError) as error:
            raise TypeMismatch(
                f"element {position} does not fit {row.name()}: {error}", origin=calling_origin()
            ) from None
    return rows


def _shaped(element: Any, row: lt.RowType) -> Any:
    """An element as a sequence in the order of the columns."""
    if isinstance(element, dict):
        return [element.get(name) for name in row.names]
    if isinstance(element, Row):
        absent = set(row.names) - set(getattr(element, "_fields", row.names))
        if absent:
            raise UnfitValue(f"{element!r} has no field {', '.join(sorted(absent))}")
        return element.get_fields_by_names(list(row.names))
    if isinstance(element, tuple | list):
        return element
    if hasattr(element, "__dict__"):
        return [getattr(element, name, None) for name in row.names]
    raise TypeMismatch(f"{element!r} is no row", hint="Rows are tuples, lists or dictionaries.")


def verifier(type: lt.LogicalType, where: str) -> Callable[[Any], None]:
    """A function that raises where a value does not fit a type."""
    inner = _inner_verifier(type, where)

    def verify(value: Any) -> None:
        if value is None:
            if not type.nullable:
                raise UnfitValue(f"{where} is None, but {type}")
            return
        inner(value)

    return verify


def _inner_verifier(type: lt.LogicalType, where: str) -> Callable[[Any], None]:
    if isinstance(type, lt.RowType):
        return _row_verifier(type, where)
    if isinstance(type, lt.INTEGERS):
        return _integer_verifier(type, where)
    accepted = next((taken for kinds, taken in _KINDS if isinstance(type, kinds)), None)
    parts = _part_verifiers(type, where)
    exact = isinstance(type, lt.CharType | lt.BinaryType)
    longest = type.length if isinstance(type, _WITH_LENGTH) else None

    def verify(value: Any) -> None:
        if accepted is not None and not isinstance(value, accepted):
            raise TypeMismatch(f"{where} is {type.name()}, but the value is {value!r}")
        if longest is not None and (len(value) > longest or (exact and len(value) < longest)):
            raise UnfitValue(f"{where} is {type.name()}, but {value!r:.120} is {len(value)} long")
        for check, values in parts:
            for each in values(value):
                check(each)

    return verify


def _part_verifiers(
    type: lt.LogicalType, where: str
) -> list[tuple[Callable[[Any], None], Callable[[Any], Any]]]:
    match type:
        case lt.ArrayType(element=element):
            return [(verifier(element, f"an element of {where}"), iter)]
        case lt.MapType(key=key, value=value):
            return [
                (verifier(key, f"a key of {where}"), iter),
                (verifier(value, f"a value of {where}"), lambda given: given.values()),
            ]
    return []


def _integer_verifier(type: lt.LogicalType, where: str) -> Callable[[Any], None]:
    limit = 1 << (_BITS[type.__class__] - 1)

    def verify(value: Any) -> None:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeMismatch(f"{where} is {type.name()}, but the value is {value!r}")
        if not -limit <= value < limit:
            raise UnfitValue(f"{where} is {type.name()}, which cannot hold {value}")

    return verify


def _row_verifier(type: lt.RowType, where: str) -> Callable[[Any], None]:
    checks = [verifier(field.type, f"column {field.name}") for field in type.fields]

    def verify(value: Any) -> None:
        shaped = _shaped(value, type)
        if len(shaped) != len(checks):
            raise UnfitValue(f"{where} has {len(checks)} columns, but {len(shaped)} values")
        for check, part in zip(checks, shaped, strict=True):
            check(part)

    return verify


def converted(value: Any, type: lt.LogicalType) -> Any:
    """One value in internal form."""
    return nullable(from_python(type))(value)
