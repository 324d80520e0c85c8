"""Types as SQL writes them, to `headrace.core.logical_types`."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from headrace.core import logical_types as lt
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql.dialect import opened
from headrace.sql.nodes import TypeField, TypeName, position_of

_SIMPLE: dict[str, lt.LogicalType] = {
    "BOOLEAN": lt.BOOLEAN, "TINYINT": lt.TINYINT, "SMALLINT": lt.SMALLINT, "INT": lt.INT,
    "BIGINT": lt.BIGINT, "FLOAT": lt.FLOAT, "DOUBLE": lt.DOUBLE, "STRING": lt.STRING,
    "BYTES": lt.BYTES, "DATE": lt.DATE, "NULL": lt.NULL, "VARIANT": lt.VariantType(),
    "BITMAP": lt.BitmapType(), "DESCRIPTOR": lt.DescriptorType(),
}  # fmt: skip
_SIZED: dict[str, Callable[..., lt.LogicalType]] = {
    "CHAR": lt.CharType,
    "VARCHAR": lt.VarCharType,
    "BINARY": lt.BinaryType,
    "VARBINARY": lt.VarBinaryType,
}
_TIMED: dict[str, Callable[..., lt.LogicalType]] = {
    "TIME": lt.TimeType,
    "TIMESTAMP": lt.TimestampType,
    "TIMESTAMP_LTZ": lt.LocalZonedTimestampType,
    "TIMESTAMP WITH TIME ZONE": lt.ZonedTimestampType,
}
_MAX_DECIMAL, _MAX_FRACTION = 38, 9
_YEAR_MONTH = ("YEAR", "QUARTER", "MONTH")
_DEFAULT_SIZES = {"YEAR": "(2)", "DAY": "(2)", "SECOND": "(6)"}


def parse_type(text: str) -> lt.LogicalType:
    """The type that a text such as `ROW<a INT NOT NULL, b STRING>` names."""
    parser = opened(text)
    found = parser.type_name()
    parser.accept_sign(TokenType.SEMICOLON)
    if not parser.at_end:
        parser.fail(f"did not expect {parser.shown()} after the type")
    return logical_type(found)


def logical_type(node: exp.Expr) -> lt.LogicalType:
    """The type that a parsed one names."""
    assert isinstance(node, TypeName)
    found = _plain(node, str(node.this), node.args.get("parameters") or [])
    return found.with_nullable(node.args.get("nullable") is not False)


def _plain(node: TypeName, name: str, numbers: list[int]) -> lt.LogicalType:
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name in _SIZED:
        return _sized(node, name, numbers)
    if name in _TIMED:
        return _timed(node, name, numbers)
    if name == "DECIMAL":
        return _decimal(node, numbers)
    if name == "INTERVAL":
        return _interval(str(node.args["resolution"]))
    if name == "ROW":
        return lt.RowType(tuple(_field(part) for part in node.expressions))
    if name == "RAW":
        return lt.RawType(str(numbers[0])) if numbers else lt.RawType()
    parts = [logical_type(part) for part in node.expressions]
    if name == "ARRAY":
        return lt.ArrayType(*parts)
    if name == "MULTISET":
        return lt.MultisetType(*parts)
    if name == "MAP":
        return lt.MapType(*parts)
    raise Unsupported(
        f"columns of type {name} cannot be had", origin=position_of(node),
        hint="structured types are rows here: ROW<name type, …>",
    )  # fmt: skip


def _sized(node: TypeName, name: str, numbers: list[int]) -> lt.LogicalType:
    if not numbers:
        return _SIZED[name]()
    length = numbers[0]
    if len(numbers) > 1 or not 1 <= length <= lt.STRING_LENGTH:
        raise _out_of_range(node, f"{name} has one length between 1 and {lt.STRING_LENGTH}")
    return _SIZED[name](length)


def _timed(node: TypeName, name: str, numbers: list[int]) -> lt.LogicalType:
    if not numbers:
        return _TIMED[name]()
    if len(numbers) > 1 or not 0 <= numbers[0] <= _MAX_FRACTION:
        raise _out_of_range(node, f"{name} has one precision between 0 and {_MAX_FRACTION}")
    return _TIMED[name](numbers[0])


def _decimal(node: TypeName, numbers: list[int]) -> lt.LogicalType:
    precision, scale = (*numbers, 0)[:2] if numbers else (10, 0)
    if len(numbers) > 2 or not 1 <= precision <= _MAX_DECIMAL or not 0 <= scale <= precision:
        raise _out_of_range(
            node, f"DECIMAL has a precision between 1 and {_MAX_DECIMAL}, and a scale up to that"
        )
    return lt.DecimalType(precision, scale)


def _out_of_range(node: TypeName, message: str) -> InvalidQuery:
    return InvalidQuery(message, origin=position_of(node))


def _interval(resolution: str) -> lt.LogicalType:
    """The resolution with the sizes that were left out; only the outer units have any."""
    units = [unit.strip() for unit in resolution.split(" TO ")]
    shown = [units[0] if "(" in units[0] else units[0] + _DEFAULT_SIZES.get(units[0], "")]
    shown += [unit + "(6)" if unit == "SECOND" else unit for unit in units[1:]]
    text = " TO ".join(shown)
    if units[0].split("(")[0] in _YEAR_MONTH:
        return lt.YearMonthIntervalType(text)
    return lt.DayTimeIntervalType(text)


def _field(part: exp.Expr) -> lt.Field:
    assert isinstance(part, TypeField)
    return lt.Field(part.this.name, logical_type(part.args["kind"]), part.args.get("comment"))
