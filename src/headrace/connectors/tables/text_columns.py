"""Spark SQL that makes typed columns of texts, and says which texts are no values.

Files of lines are read with every value as text: so a value that cannot be read is known with its
column, its text, its line and its file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.core.logical_types import (
    BINARIES,
    CHARACTERS,
    ArrayType,
    BigIntType,
    BooleanType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from headrace.core.logical_types import INT as COUNT
from headrace.core.table_columns import MICROSECOND_DIGITS
from headrace.errors import Unsupported
from headrace.spark.native.types import quoted, spark_type

_MIDNIGHT = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_EPOCH = "TIMESTAMP'1970-01-01 00:00:00Z'"
_WHOLE = (TinyIntType, SmallIntType, IntType, BigIntType)
_NESTED = (ArrayType, MapType, MultisetType, RowType)


def sql_text(text: str) -> str:
    """A text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped.replace(chr(0), chr(92) + '0')}'"


def base64_text(value: str) -> str:
    """Without the line breaks that Spark may put into it."""
    return f"translate(base64({value}), '\\r\\n', '')"


@dataclass(frozen=True)
class TextColumns:
    """How texts of a format stand for values.

    `flat`: arrays and rows are texts too, their parts separated by `delimiter`, as in CSV.
    """

    flat: bool
    delimiter: str = ";"
    null_literal: str | None = None

    def text_type(self, type: LogicalType) -> str:
        """The column's type in the file: texts, in the shape of the type where it has one."""
        if self.flat:
            if isinstance(type, MapType | MultisetType):
                raise Unsupported(
                    f"CSV has no form for {type}", hint="use another format, such as json"
                )
            return "STRING"
        match type:
            case ArrayType(element=element):
                return f"ARRAY<{self.text_type(element)}>"
            case MapType(value=value):
                return f"MAP<STRING,{self.text_type(value)}>"
            case MultisetType():
                return "MAP<STRING,STRING>"
            case RowType(fields=fields):
                parts = ",".join(f"{quoted(f.name)}:{self.text_type(f.type)}" for f in fields)
                return f"STRUCT<{parts}>"
            case DecimalType():
                # As text, Spark would give a number of JSON with a double's digits only.
                return spark_type(type)
        return "STRING"

    def value(self, text: str, type: LogicalType, depth: int = 0) -> str:
        """The value; NULL also where the text is none."""
        match type:
            case ArrayType(element=element):
                name = f"x{depth}"
                inner = self.value(name, element, depth + 1)
                return f"transform({self._parts(text)}, {name} -> {inner})"
            case RowType(fields=fields):
                parts = ", ".join(
                    f"{sql_text(field.name)}, "
                    + self.value(self._field(text, at, field.name), field.type, depth)
                    for at, field in enumerate(fields)
                )
                return f"IF({text} IS NULL, NULL, named_struct({parts}))"
            case MapType(key=key, value=value):
                return self._map(text, key, value, depth)
            case MultisetType(element=element):
                return self._map(text, element, COUNT, depth)
        return self._scalar(text, type)

    def bad(self, text: str, type: LogicalType, depth: int = 0) -> str | None:
        """Whether the text is no value of the type; None if every text is one."""
        name = f"x{depth}"
        match type:
            case ArrayType(element=element):
                inner = self.bad(name, element, depth + 1)
                return None if inner is None else _any(self._parts(text), name, inner)
            case RowType(fields=fields):
                return _either(
                    self.bad(self._field(text, at, field.name), field.type, depth)
                    for at, field in enumerate(fields)
                )
            case MapType(key=key, value=value):
                return self._bad_map(text, key, value, depth)
            case MultisetType(element=element):
                return self._bad_map(text, element, COUNT, depth)
        if isinstance(type, (BooleanType, *CHARACTERS)):
            return None
        if not self.flat and isinstance(type, DecimalType):
            return None
        return f"({text} IS NOT NULL AND {self._scalar(text, type)} IS NULL)"

    def is_scalar(self, type: LogicalType) -> bool:
        """Whether a value is NULL exactly if its text is none."""
        return not isinstance(type, _NESTED)

    def _scalar(self, text: str, type: LogicalType) -> str:
        if not self.flat and isinstance(type, DecimalType):
            return text
        whole = scalar(text, type)
        if self.flat or not isinstance(type, _WHOLE):
            return whole
        # A JSON number with a fraction is a whole number without it.
        return f"coalesce({whole}, try_cast(try_cast({text} AS DOUBLE) AS {spark_type(type)}))"

    def _parts(self, text: str) -> str:
        if not self.flat:
            return text
        parts = f"split({text}, {sql_text(re.escape(self.delimiter))}, -1)"
        if self.null_literal is not None:
            parts = f"transform({parts}, p -> nullif(p, {sql_text(self.null_literal)}))"
        return f"IF({text} = '', array(), {parts})"

    def _field(self, text: str, at: int, name: str) -> str:
        return f"get({self._parts(text)}, {at})" if self.flat else f"{text}.{quoted(name)}"

    def _map(self, text: str, key: LogicalType, value: LogicalType, depth: int) -> str:
        name = f"x{depth}"
        pair = (
            f"named_struct('key', {self.value(f'{name}.key', key, depth + 1)}, "
            f"'value', {self.value(f'{name}.value', value, depth + 1)})"
        )
        return f"map_from_entries(transform(map_entries({text}), {name} -> {pair}))"

    def _bad_map(self, text: str, key: LogicalType, value: LogicalType, depth: int) -> str | None:
        name = f"x{depth}"
        inner = _either(
            self.bad(f"{name}.{part}", type, depth + 1)
            for part, type in (("key", key), ("value", value))
        )
        return None if inner is None else _any(f"map_entries({text})", name, inner)

    def reason(self, name: str, text: str, type: LogicalType) -> str:
        """What to say of a column's text that is no value."""
        shown = f"to_json({text})" if isinstance(type, _NESTED) and not self.flat else text
        start, end = sql_text(f"column {name}: '"), sql_text(f"' is no {type}")
        return f"concat({start}, {shown}, {end})"


class LegacyTexts(TextColumns):
    """Texts as Flink's older reader of CSV takes them: the value alone; nothing is NULL."""

    def bad(self, text: str, type: LogicalType, depth: int = 0) -> str | None:
        if isinstance(type, CHARACTERS):
            return None
        return f"({text} IS NOT NULL AND {self._scalar(text, type)} IS NULL)"

    def _scalar(self, text: str, type: LogicalType) -> str:
        if isinstance(type, BooleanType):
            known = {"TRUE": "('true', '1')", "FALSE": "('false', '0')"}
            cases = [f"WHEN lower({text}) IN {texts} THEN {v}" for v, texts in known.items()]
            return f"CASE {' '.join(cases)} END"
        value = super()._scalar(text, type)
        if isinstance(type, CHARACTERS):
            return value
        shape = "-?[0-9]+" if isinstance(type, _WHOLE) else "[-.0-9].*[^ ]|[0-9]|NaN|-?Infinity"
        shape = "[^T]+" if isinstance(type, TimestampType) else shape
        return f"IF({text} RLIKE '^({shape})$', {value}, NULL)"


def _either(conditions: object) -> str | None:
    found = [each for each in conditions if each is not None]  # type: ignore[attr-defined]
    return f"({' OR '.join(found)})" if found else None


def _any(parts: str, name: str, condition: str) -> str:
    return f"coalesce(exists({parts}, {name} -> {condition}), FALSE)"


def scalar(text: str, type: LogicalType) -> str:
    """A value that has no parts, of its text; NULL where the text is none."""
    if isinstance(type, CHARACTERS):
        return text
    if isinstance(type, BINARIES):
        return f"try_to_binary({text}, 'base64')"
    match type:
        case BooleanType():
            # As Java reads it: every other text is false.
            return f"(lower(trim({text})) = 'true')"
        case TimeType():
            moment = f"try_cast(concat('1970-01-01 ', trim({text})) AS TIMESTAMP_NTZ)"
            return f"CAST(timestampdiff(MILLISECOND, {_MIDNIGHT}, {moment}) AS INT)"
        case TimestampType() | LocalZonedTimestampType():
            return _moment(text, type)
    return f"try_cast({text} AS {spark_type(type)})"


def _moment(text: str, type: TimestampType | LocalZonedTimestampType) -> str:
    zoned = isinstance(type, LocalZonedTimestampType)
    if type.precision < MICROSECOND_DIGITS:
        text = _cut(text, type.precision)
    moment = f"try_cast({text} AS {'TIMESTAMP' if zoned else 'TIMESTAMP_NTZ'})"
    if type.precision <= MICROSECOND_DIGITS:
        return moment
    # Nanoseconds: Spark's value ends with the microseconds, the rest is in the text.
    micros = f"timestampdiff(MICROSECOND, {_EPOCH if zoned else _MIDNIGHT}, {moment})"
    digits = f"regexp_extract({text}, '[.][0-9]{{6}}([0-9]{{1,3}})', 1)"
    return f"({micros} * 1000 + CAST(rpad({digits}, 3, '0') AS BIGINT))"


def _cut(text: str, digits: int) -> str:
    """The text with as many digits behind the second as the type has."""
    length = len("2000-01-01 00:00:00") + (digits + 1 if digits else 0)
    kept = f"([.][0-9]{{{digits}}})" if digits else "()[.]"
    cut = f"regexp_replace({text}, '{kept}[0-9]+', '$1')"
    return f"IF(length({text}) > {length}, {cut}, {text})"


def written(name: str, type: LogicalType, delimiter: str | None) -> str | None:
    """A column as the text, or the value, that stands in a file of lines; `delimiter` separates
    the parts of an array, where those are one text. None if only a writer of rows can tell."""
    if isinstance(type, BINARIES):
        return base64_text(name)
    match type:
        case TimeType():
            moment = f"{_MIDNIGHT} + make_dt_interval(0, 0, 0, {name} / 1000.0)"
            return f"date_format({moment}, 'HH:mm:ss')"
        case TimestampType() | LocalZonedTimestampType() if type.precision > MICROSECOND_DIGITS:
            return None
        case TimestampType():
            return f"CAST({name} AS STRING)"
        case LocalZonedTimestampType():
            utc = f"convert_timezone(current_timezone(), 'UTC', CAST({name} AS TIMESTAMP_NTZ))"
            return f"concat(CAST({utc} AS STRING), 'Z')"
        case ArrayType(element=element) if delimiter is not None:
            if not _is_plain(element):
                return None
            texts = f"transform({name}, x -> coalesce(CAST(x AS STRING), ''))"
            return f"array_join({texts}, {sql_text(delimiter)})"
        case ArrayType() | RowType() | MapType() | MultisetType():
            return name if delimiter is None and _is_plain(type) else None
    return name


def _is_plain(type: LogicalType) -> bool:
    """Whether Spark writes such a value, and its parts, as Flink does."""
    match type:
        case ArrayType(element=element):
            return _is_plain(element)
        case MapType(key=key, value=value):
            return isinstance(key, CHARACTERS) and _is_plain(value)
        case RowType(fields=fields):
            return all(_is_plain(field.type) for field in fields)
    timed = (TimeType, TimestampType, LocalZonedTimestampType, MultisetType)
    return not isinstance(type, (*timed, *BINARIES))
