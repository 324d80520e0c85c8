"""Functions that make expressions: columns, constants, and functions by name."""

from __future__ import annotations

from typing import Any

from headrace.core.logical_types import INTEGERS
from headrace.errors import TypeMismatch, naming_the_caller
from headrace.origin import calling_origin
from headrace.sql import unresolved as un
from headrace.sql.dialect import parse_expression
from headrace.sql.to_unresolved import unresolved
from headrace.table.column_choice import RANGE, WITH_COLUMNS, WITHOUT_COLUMNS
from headrace.table.data_types import DataType
from headrace.table.elements import verifier
from headrace.table.expression import Expression, JsonOnNull, TimePointUnit
from headrace.table.expression_base import UNSAID, expression_node, node_of, said
from headrace.table.type_mapping import logical_type_of
from headrace.table.window_bounds import (
    CURRENT_RANGE,
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    RowInterval,
)

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]

Made = Expression[Any]


def _made(node: un.Unresolved) -> Made:
    return Expression(node)


def _apply(function: str, *arguments: Any) -> Made:
    given = tuple(node_of(argument) for argument in arguments if argument is not UNSAID)
    return _made(un.Apply(function, given, at=calling_origin()))


def col(name: str) -> Made:
    """A column by its name; `*` is all of them."""
    if not isinstance(name, str):
        raise TypeMismatch(f"col() takes a name, not {name!r}", origin=calling_origin())
    if name == "*":
        return with_all_columns()
    return _made(un.Name((name,), at=calling_origin()))


def lit(v: Any, data_type: DataType | None = None) -> Made:
    """A constant, with a type of its own or one that is given."""
    value = un.Value(v, at=calling_origin())
    if data_type is None:
        return _made(value)
    type = logical_type_of(data_type)
    if v is None:
        return _made(un.Value(None, type.with_nullable(True), at=value.at))
    if isinstance(type, INTEGERS) and isinstance(v, int):
        with naming_the_caller():
            verifier(type, "the literal")(int(v))  # a cast would keep its lowest bits
    return _made(un.CastTo(value, type, at=value.at))


def range_(start: str | int, end: str | int) -> Made:
    """Neighbouring columns, by name or by number from 1, for with_columns()."""
    return _apply(RANGE, start, end)


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Made:
    return _joined("AND", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Made:
    return _joined("OR", predicate0, predicate1, *predicates)


def _joined(function: str, first: Any, *others: Any) -> Made:
    result = first
    for other in others:
        result = _apply(function, result, other)
    made: Made = result
    return made


def not_(expression: Any) -> Made:
    return _apply("NOT", expression)


def current_database() -> Made:
    return _apply("CURRENT_DATABASE")


def current_date() -> Made:
    return _apply("CURRENT_DATE")


def current_time() -> Made:
    return _apply("CURRENT_TIME")


def current_timestamp() -> Made:
    return _apply("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Made:  # noqa: N803 (PyFlink's name)
    """The watermark that rows of the attribute's table have reached; NULL before there is one."""
    return _apply("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Made:
    return _apply("LOCALTIME")


def local_timestamp() -> Made:
    return _apply("LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Made:
    return _apply("TO_DATE", date_str, said(format))


def to_timestamp(timestamp_str: Any, format: Any = None) -> Made:
    return _apply("TO_TIMESTAMP", timestamp_str, said(format))


def to_timestamp_ltz(*args: Any) -> Made:
    """Of a number and its precision, or of a text with its format and time zone."""
    return _apply("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Made:
    """Whether two periods have a moment in common."""
    return _apply("OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Made:
    return _apply("DATE_FORMAT", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Made:
    return _apply("TIMESTAMPDIFF", time_point_unit, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Made:
    return _apply("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Made:
    return _apply("FROM_UNIXTIME", unixtime, said(format))


def unix_timestamp(date_str: Any = None, format: Any = None) -> Made:
    return _apply("UNIX_TIMESTAMP", said(date_str), said(format))


def array(head: Any, *tail: Any) -> Made:
    return _apply("ARRAY", head, *tail)


def row(head: Any, *tail: Any) -> Made:
    """A row with the fields f0, f1, …"""
    items = tuple(map(node_of, (head, *tail)))
    names = tuple(f"f{index}" for index in range(len(items)))
    return _made(un.RowOf(items, names, at=calling_origin()))


def map_(key: Any, value: Any, *tail: Any) -> Made:
    """A map of keys and values in turn."""
    return _apply("MAP", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Made:
    return _apply("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Made:
    """Columns as an argument of a function."""
    return _made(un.Descriptor(column_names, at=calling_origin()))


def object_of(class_name: str, *args: Any) -> Made:
    """An object of named attributes: names and values in turn."""
    return _apply("OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Made:
    """A number of rows, as the length of a window."""
    return _made(RowInterval(rows, at=calling_origin()))


def pi() -> Made:
    return _apply("PI")


def e() -> Made:
    return _apply("E")


def rand(seed: Any = None) -> Made:
    return _apply("RAND", said(seed))


def rand_integer(bound: Any, seed: Any = None) -> Made:
    if seed is None:
        return _apply("RAND_INTEGER", bound)
    return _apply("RAND_INTEGER", seed, bound)


def atan2(y: Any, x: Any) -> Made:
    return _apply("ATAN2", y, x)


def negative(v: Any) -> Made:
    return _apply("NEGATE", v)


def concat(first: Any, *others: Any) -> Made:
    return _apply("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Made:
    return _apply("CONCAT_WS", separator, first, *others)


def uuid() -> Made:
    return _apply("UUID")


def null_of(data_type: DataType) -> Made:
    type = logical_type_of(data_type).with_nullable(True)
    return _made(un.Value(None, type, at=calling_origin()))


def log(v: Any, base: Any = None) -> Made:
    return _apply("LOG", v) if base is None else _apply("LOG", base, v)


def source_watermark() -> Made:
    """The watermarks that the stream or source has itself."""
    return _apply("SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Made:
    branch = (node_of(condition), node_of(if_true))
    return _made(un.Case((branch,), node_of(if_false), at=calling_origin()))


def coalesce(*args: Any) -> Made:
    return _apply("COALESCE", *args)


def with_all_columns() -> Made:
    return _made(un.Star(at=calling_origin()))


def with_columns(head: Any, *tails: Any) -> Made:
    """Some of the columns: names, numbers from 1, or ranges of such."""
    return _apply(WITH_COLUMNS, head, *tails)


def without_columns(head: Any, *tails: Any) -> Made:
    """All columns but these."""
    return _apply(WITHOUT_COLUMNS, head, *tails)


def json(value: Any) -> Made:
    """A text that is JSON already, inside of json_object() and json_array()."""
    return _apply("JSON", value)


def json_string(value: Any) -> Made:
    return _apply("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Made:
    """A JSON object of keys and values in turn."""
    return _apply("JSON_OBJECT", *args, on_null)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Made:
    return _apply("JSON_OBJECTAGG", key_expr, value_expr, on_null)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Made:
    return _apply("JSON_ARRAY", *args, on_null)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Made:
    return _apply("JSON_ARRAYAGG", item_expr, on_null)


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Made:
    """The value some rows before, in the order of a window."""
    return _apply("LAG", expr, offset, said(default))


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Made:
    """The value some rows after, in the order of a window."""
    return _apply("LEAD", expr, offset, said(default))


def call(f: Any, *args: Any) -> Made:
    """A function by its name, or a function of the user, applied to arguments."""
    if isinstance(f, str):
        *path, name = f.split(".")
        given = tuple(map(node_of, args))
        return _made(un.Apply(name, given, path=tuple(path), at=calling_origin()))
    user = getattr(f, "user_function", None)
    if user is None:
        raise TypeMismatch(
            f"call() takes a function's name or one made with udf(), not {f!r}",
            origin=calling_origin(),
        )
    return _made(un.UserApply(user(), tuple(map(node_of, args)), at=calling_origin()))


def call_sql(sql_expression: str) -> Made:
    """An expression as SQL text."""
    made = _made(unresolved(parse_expression(sql_expression)))
    made._written = sql_expression
    return made


def condition_node(value: Any, method: str) -> un.Unresolved:
    """The node of a condition; True and False are conditions, too."""
    return node_of(value) if isinstance(value, bool) else expression_node(value, method)
