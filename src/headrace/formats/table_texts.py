"""Values in internal form as Flink's csv and json formats write them."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring as quoted
from typing import Any

from headrace.core.logical_types import (
    APPROXIMATE,
    BINARIES,
    CHARACTERS,
    INTEGERS,
    NUMERIC,
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.core.numbers import WIDE, rescaled
from headrace.core.table_values import text_of
from headrace.errors import TypeMismatch

Text = Callable[[Any], str]
_UNQUOTED = (BooleanType, *NUMERIC)


def needs_no_quotes(type: LogicalType) -> bool:
    """Of a field in CSV: whether its text is a number or the like, which is never quoted."""
    return isinstance(type, _UNQUOTED)


def decimal_text(value: Decimal, *, plain: bool = True) -> str:
    """A decimal without zeros at its end; not `plain`: tiny ones as Java writes them, as 1E-8."""
    short = value.normalize(WIDE)
    if short.as_tuple().exponent > 0:  # type: ignore[operator]
        short = rescaled(short, 0)
    return f"{short:f}" if plain else str(short)


def _seconds_too(text: str) -> str:
    """A clock text always with seconds, and no more digits behind them than it needs."""
    text, zone = (text[:-1], "Z") if text.endswith("Z") else (text, "")
    if len(text.rpartition("T")[2]) == len("00:00"):
        text += ":00"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + zone


def _moment(type: LogicalType, *, iso: bool = False) -> Text:
    if iso and not isinstance(type, TimeType):
        return lambda value: _seconds_too(text_of(value, type))
    return lambda value: _seconds_too(text_of(value, type)).replace("T", " ")


def csv_text(type: LogicalType, delimiter: str = ";", null: str = "") -> Text:
    """How a value that is not NULL stands in a field of CSV; `null` is what NULL is inside it."""
    match type:
        case TimestampType() | LocalZonedTimestampType() | TimeType():
            return _moment(type)
        case ArrayType(element=element):
            part = csv_text(element, delimiter, null)
            return lambda values: delimiter.join(null if v is None else part(v) for v in values)
        case RowType(fields=fields):
            parts = [csv_text(field.type, delimiter, null) for field in fields]
            return lambda values: delimiter.join(
                null if v is None else part(v) for part, v in zip(parts, values, strict=True)
            )
        case DecimalType():
            return decimal_text
    if isinstance(type, INTEGERS):
        return str
    if isinstance(type, (BooleanType, DateType, *NUMERIC)):
        return lambda value: text_of(value, type)
    if isinstance(type, BINARIES):
        return lambda value: base64.b64encode(value).decode()
    return str


@dataclass(frozen=True)
class JsonForm:
    """The choices there are in writing JSON."""

    plain_decimals: bool = False
    ignores_null_fields: bool = False
    iso_timestamps: bool = False
    null_keys: str = "FAIL"
    """What becomes of an entry of a map whose key is NULL: FAIL, DROP or LITERAL."""
    null_key: str = "null"
    """The literal for such a key."""


def json_text(type: LogicalType, form: JsonForm | None = None) -> Text:
    """How a value that is not NULL stands in JSON."""
    form = form or JsonForm()
    match type:
        case TimestampType() | LocalZonedTimestampType() | TimeType():
            moment = _moment(type, iso=form.iso_timestamps)
            return lambda value: f'"{moment(value)}"'
        case DateType():
            return lambda value: f'"{text_of(value, type)}"'
        case DecimalType():
            return lambda value: decimal_text(value, plain=form.plain_decimals)
        case ArrayType(element=element):
            part = _or_null(json_text(element, form))
            return lambda values: f"[{','.join(map(part, values))}]"
        case MapType(key=key, value=inner):
            return _object(csv_text(key), json_text(inner, form), form)
        case MultisetType(element=element):
            return _object(csv_text(element), str, form)
        case RowType(fields=fields):
            return _row(fields, form)
    if isinstance(type, BINARIES):
        return lambda value: f'"{base64.b64encode(value).decode()}"'
    if isinstance(type, APPROXIMATE):
        return lambda value: (
            text_of(value, type) if math.isfinite(value) else f'"{text_of(value, type)}"'
        )
    if isinstance(type, CHARACTERS):
        return quoted
    if isinstance(type, INTEGERS):
        return str
    return lambda value: text_of(value, type)


def _or_null(text: Text) -> Text:
    return lambda value: "null" if value is None else text(value)


def _object(name: Text, text: Text, form: JsonForm) -> Text:
    part = _or_null(text)

    def object(pairs: dict[Any, Any]) -> str:
        if None in pairs:
            pairs = _with_named_keys(pairs, form)
            names = [form.null_key if key is None else name(key) for key in pairs]
        else:
            names = list(map(name, pairs))
        entries = zip(names, pairs.values(), strict=True)
        return "{" + ",".join(f"{quoted(label)}:{part(value)}" for label, value in entries) + "}"

    return object


def _with_named_keys(pairs: dict[Any, Any], form: JsonForm) -> dict[Any, Any]:
    if form.null_keys == "FAIL":
        raise TypeMismatch(
            "JSON has no form for a map with a key that is NULL",
            hint="Set 'map-null-key.mode' of the format to 'DROP' or 'LITERAL'.",
        )
    if form.null_keys == "DROP":
        return {key: value for key, value in pairs.items() if key is not None}
    return pairs


def _row(fields: Any, form: JsonForm) -> Text:
    labels = [f"{quoted(field.name)}:" for field in fields]
    parts = [json_text(field.type, form) for field in fields]
    skips = form.ignores_null_fields

    def row(values: Any) -> str:
        texts = [
            label + ("null" if value is None else part(value))
            for label, part, value in zip(labels, parts, values, strict=True)
            if not (skips and value is None)
        ]
        return f"{{{','.join(texts)}}}"

    return row
