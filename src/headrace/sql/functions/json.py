"""Functions of JSON texts.

What SQL writes in words becomes trailing literals; those in brackets may be left out:

    IS_JSON(text [, 'VALUE' | 'SCALAR' | 'ARRAY' | 'OBJECT'])
    JSON_EXISTS(text, path [, 'TRUE' | 'FALSE' | 'UNKNOWN' | 'ERROR'])
    JSON_VALUE(text, path [, type, on empty, its default, on error, its default])
        with 'NULL' | 'ERROR' | 'DEFAULT'; the defaults are values, NULL where there is none
    JSON_QUERY(text, path [, type, 'WITHOUT' | 'CONDITIONAL' | 'UNCONDITIONAL', on empty, on error])
        with 'NULL' | 'EMPTY ARRAY' | 'EMPTY OBJECT' | 'ERROR'
    JSON_OBJECT(key, value, …, 'NULL' | 'ABSENT'), JSON_ARRAY(value, …, 'NULL' | 'ABSENT')

The type, of RETURNING, is its text, or a NULL of that type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Expression, Literal
from headrace.core.logical_types import BOOLEAN, STRING, LogicalType
from headrace.errors import InvalidQuery
from headrace.operators.functions import json_functions, json_values
from headrace.sql.functions.conversion import can_cast_implicitly, cast
from headrace.sql.functions.parameters import ANY, TEXT, literal
from headrace.sql.functions.row import FunctionRow, any_nullable, example, of, signature
from headrace.sql.types import parse_type

_MAKERS = ("JSON_OBJECT", "JSON_ARRAY")
_BEHAVIOURS = ("NULL", "ABSENT")
_WORD = STRING.not_null()
_VALUE_ON = ("NULL", "ERROR", "DEFAULT")
_QUERY_ON = ("NULL", "EMPTY ARRAY", "EMPTY OBJECT", "ERROR")
_WRAPPERS = ("WITHOUT", "CONDITIONAL", "UNCONDITIONAL")


def word(text: str) -> Literal:
    """A behaviour as an argument."""
    return Literal(_WORD, text)


def behaviour_of(arguments: Sequence[Expression]) -> str | None:
    """What the last argument says about NULLs, if it is such a word."""
    last = arguments[-1] if arguments else None
    text = last.value if isinstance(last, Literal) else None
    return text if isinstance(text, str) and text in _BEHAVIOURS else None


def _typed(given: Expression) -> Expression:
    """What RETURNING says, as a NULL of that type."""
    if isinstance(given, Literal) and isinstance(given.value, str):
        return Literal(parse_type(given.value).with_nullable(True), None)
    return given


def _json_argument(argument: Expression) -> Expression | None:
    """What JSON functions made is put in as JSON, not as text."""
    if isinstance(argument, Call) and argument.function.name in (*_MAKERS, "JSON"):
        return replace(argument, type=json_values.JSON.with_nullable(argument.type.nullable))
    return argument if json_values.convertible(argument.type) else None


def _object_arguments(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    behaviour = behaviour_of(arguments) if len(arguments) % 2 else None
    parts = list(arguments if behaviour is None else arguments[:-1])
    if len(parts) % 2:
        return None
    for at in range(0, len(parts), 2):
        value = _json_argument(parts[at + 1])
        key = parts[at]
        is_text = isinstance(key.type, lt.CHARACTERS) and _json_argument(key) is key
        if value is None or not is_text:
            return None
        parts[at + 1] = value
    return [*parts, word(behaviour or "NULL")]


def _array_arguments(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    behaviour = behaviour_of(arguments)
    parts = [_json_argument(part) for part in (arguments if behaviour is None else arguments[:-1])]
    known = [part for part in parts if part is not None]
    return [*known, word(behaviour or "ABSENT")] if len(known) == len(parts) else None


def _value_arguments(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    text, path, *rest = arguments
    empty, error = Literal(lt.NULL, None), Literal(lt.NULL, None)
    given = [*rest, *[Literal(STRING, None), word("NULL"), empty, word("NULL"), error][len(rest) :]]
    given[0] = _typed(given[0])
    kind = given[0].type
    if not isinstance(kind, (lt.BooleanType, lt.IntType, lt.DoubleType, *lt.CHARACTERS)):
        raise InvalidQuery(
            f"JSON_VALUE cannot return {kind}",
            hint="RETURNING takes STRING, BOOLEAN, INTEGER and DOUBLE; cast the text to others.",
        )
    for at in (2, 4):
        if not can_cast_implicitly(given[at].type, kind):
            return None
        given[at] = cast(given[at], kind.with_nullable(given[at].type.nullable))
    return [text, path, *given]


def _query_arguments(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    text, path, *rest = arguments
    words = [Literal(STRING, None), word("WITHOUT"), word("NULL"), word("NULL")]
    given = [*rest, *words[len(rest) :]]
    given[0] = _typed(given[0])
    kind = given[0].type
    array = isinstance(kind, lt.ArrayType) and isinstance(kind.element, lt.VarCharType)
    behaviours = [part.value for part in given[2:] if isinstance(part, Literal)]
    if not array and not isinstance(kind, lt.CHARACTERS):
        raise InvalidQuery(
            f"JSON_QUERY cannot return {kind}", hint="RETURNING takes STRING and ARRAY<STRING>."
        )
    if array and "EMPTY OBJECT" in behaviours:
        raise InvalidQuery(
            "JSON_QUERY cannot give an empty object where it returns an array",
            hint="Write EMPTY ARRAY, or leave RETURNING out.",
        )
    return [text, path, *given]


def _returning(arguments: Sequence[Expression]) -> LogicalType:
    return arguments[2].type


_DOCUMENT = '{"a":[1,"x"],"b":null}'

FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("IS_JSON",),
        doc="Whether a text is JSON, perhaps of a certain kind.",
        signatures=(
            signature(TEXT, optional=(literal(TEXT, "VALUE", "SCALAR", "ARRAY", "OBJECT"),)),
        ),
        result=BOOLEAN,
        nullable=False,
        strict=False,
        meaning=json_functions.is_json,
        examples=(example("{}", of("OBJECT", _WORD), gives=True), example("a", gives=False)),
    ),
    FunctionRow(
        names=("IS_NOT_JSON",),
        doc="Whether a text is no JSON, or not of a certain kind.",
        signatures=(
            signature(TEXT, optional=(literal(TEXT, "VALUE", "SCALAR", "ARRAY", "OBJECT"),)),
        ),
        result=BOOLEAN,
        nullable=False,
        strict=False,
        meaning=json_functions.is_not_json,
        examples=(example("a", gives=True),),
    ),
    FunctionRow(
        names=("JSON_EXISTS",),
        doc="Whether a path leads to something.",
        signatures=(
            signature(TEXT, TEXT, optional=(literal(TEXT, "TRUE", "FALSE", "UNKNOWN", "ERROR"),)),
        ),
        result=BOOLEAN,
        nullable=True,
        meaning=json_functions.exists,
        examples=(example(_DOCUMENT, "$.a[1]", gives=True), example("{}", "lax $.a", gives=False)),
    ),
    FunctionRow(
        names=("JSON_VALUE",),
        doc="The scalar a path leads to, as text or as another type.",
        signatures=(
            signature(
                TEXT,
                TEXT,
                optional=(ANY, literal(TEXT, *_VALUE_ON), ANY, literal(TEXT, *_VALUE_ON), ANY),
                prepare=_value_arguments,
            ),
        ),
        result=_returning,
        nullable=True,
        strict=False,
        meaning=json_functions.json_value,
        by_type=True,
        examples=(
            example(_DOCUMENT, "$.a[1]", gives="x"),
            example(_DOCUMENT, "$.a[0]", of(None, lt.INT), gives=1),
        ),
    ),
    FunctionRow(
        names=("JSON_QUERY",),
        doc="The object or array a path leads to, as JSON or as an array of texts.",
        signatures=(
            signature(
                TEXT,
                TEXT,
                optional=(
                    ANY,
                    literal(TEXT, *_WRAPPERS),
                    literal(TEXT, *_QUERY_ON),
                    literal(TEXT, *_QUERY_ON),
                ),
                prepare=_query_arguments,
            ),
        ),
        result=_returning,
        nullable=True,
        strict=False,
        meaning=json_functions.json_query,
        by_type=True,
        examples=(
            example(_DOCUMENT, "$.a", gives='[1,"x"]'),
            example(_DOCUMENT, "$.a", of(None, lt.ArrayType(STRING)), gives=("1", "x")),
        ),
    ),
    FunctionRow(
        names=("JSON_STRING",),
        doc="A value as JSON.",
        signatures=(
            signature(
                ANY,
                prepare=lambda arguments: (
                    arguments if json_values.convertible(arguments[0].type) else None
                ),
            ),
        ),
        result=STRING,
        nullable=any_nullable,
        meaning=json_values.json_string,
        by_type=True,
        examples=(example('a"b', gives='"a\\"b"'), example((1, 2), gives="[1,2]")),
    ),
    FunctionRow(
        names=("JSON",),
        doc="A text that is JSON, to be put into JSON_OBJECT or JSON_ARRAY as it is.",
        signatures=(signature(TEXT),),
        result=STRING,
        nullable=True,
        meaning=json_values.json_fragment,
        examples=(example("[1, 2]", gives="[1,2]"),),
    ),
    FunctionRow(
        names=("JSON_OBJECT",),
        doc="A JSON object of keys and values.",
        signatures=(signature(rest=(ANY,), prepare=_object_arguments),),
        result=STRING,
        nullable=False,
        strict=False,
        meaning=json_values.json_object,
        by_type=True,
        examples=(example("b", 1, "a", "x", "NULL", gives='{"a":"x","b":1}'),),
    ),
    FunctionRow(
        names=("JSON_ARRAY",),
        doc="A JSON array of values.",
        signatures=(signature(rest=(ANY,), prepare=_array_arguments),),
        result=STRING,
        nullable=False,
        strict=False,
        meaning=json_values.json_array,
        by_type=True,
        examples=(example(1, "x", "ABSENT", gives='[1,"x"]'),),
    ),
    FunctionRow(
        names=("JSON_QUOTE",),
        doc="A text as a JSON string of ASCII characters.",
        signatures=(signature(TEXT),),
        result=STRING,
        meaning=json_functions.quote,
        examples=(example("a/\t≠", gives='"a\\/\\t\\u2260"'),),
    ),
    FunctionRow(
        names=("JSON_UNQUOTE",),
        doc="The text of a JSON string; anything else as it is.",
        signatures=(signature(TEXT),),
        result=STRING,
        meaning=json_functions.unquote,
        examples=(example('"a\\u0041"', gives="aA"), example("[1]", gives="[1]")),
    ),
)
