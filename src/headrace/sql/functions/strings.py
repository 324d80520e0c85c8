"""Functions of character strings."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.expressions import Expression, Literal
from headrace.core.logical_types import (
    BOOLEAN,
    INT,
    STRING,
    LogicalType,
    MapType,
)
from headrace.errors import InvalidQuery
from headrace.operators.functions import printf, strings
from headrace.sql.functions import text_parts
from headrace.sql.functions.parameters import ANY, BINARY, INTEGER, TEXT
from headrace.sql.functions.row import (
    FunctionRow,
    any_nullable,
    argument_nullable,
    example,
    of,
    signature,
    type_of,
)
from headrace.sql.functions.spark_forms import called, constant_text, is_count, where, where_types
from headrace.sql.functions.text_types import joined
from headrace.sql.functions.type_rules import common_type


def _common_after_first(arguments: Sequence[Expression]) -> LogicalType | None:
    return common_type([argument.type for argument in arguments[1:]])


def _counted(arguments: Sequence[Expression]) -> Sequence[Expression]:
    index = arguments[0]
    if isinstance(index, Literal) and index.value is not None and index.value < 0:
        raise InvalidQuery(f"ELT counts from 1, not from {index.value}", hint="0 gives NULL.")
    return arguments


def _padding(texts: Sequence[str]) -> bool:
    return is_count(texts[1]) and bool(constant_text(texts[2]))


FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("CONCAT2",),
        doc="Two strings, one after the other: `a || b`.",
        signatures=(signature(TEXT, TEXT), signature(BINARY, BINARY)),
        result=joined,
        meaning=strings.concat,
        inline="({0} + {1})",
        spark="concat({0}, {1})",
        examples=(example("a", "bc", gives="abc"),),
    ),
    FunctionRow(
        names=("CHAR_LENGTH", "CHARACTER_LENGTH"),
        doc="The number of characters.",
        signatures=(signature(TEXT),),
        result=INT,
        meaning=len,
        inline="len({0})",
        spark="char_length({0})",
        examples=(example("a😀", gives=2),),
    ),
    FunctionRow(
        names=("UPPER",),
        doc="In upper case.",
        signatures=(signature(TEXT),),
        result=type_of(0),
        meaning=str.upper,
        inline="{0}.upper()",
        spark="upper({0})",
        examples=(example("abc", gives="ABC"),),
    ),
    FunctionRow(
        names=("LOWER",),
        doc="In lower case.",
        signatures=(signature(TEXT),),
        result=type_of(0),
        meaning=str.lower,
        inline="{0}.lower()",
        spark="lower({0})",
        examples=(example("ABC", gives="abc"),),
    ),
    FunctionRow(
        names=("INITCAP",),
        doc="Each word with its first letter in upper case; words are letters and digits.",
        signatures=(signature(TEXT),),
        result=type_of(0),
        meaning=strings.initcap,
        examples=(example("hello wORLD foo-bar", gives="Hello World Foo-Bar"),),
    ),
    FunctionRow(
        names=("REPEAT",),
        doc="The string several times.",
        signatures=(signature(TEXT, INTEGER),),
        result=STRING,
        meaning=strings.repeat,
        spark="repeat({0}, {1})",
        examples=(example("ab", 2, gives="abab"),),
    ),
    FunctionRow(
        names=("REPLACE",),
        doc="With every occurrence of the second string replaced by the third.",
        signatures=(signature(TEXT, TEXT, TEXT),),
        result=STRING,
        meaning=str.replace,
        inline="{0}.replace({1}, {2})",
        spark=where(lambda texts: bool(constant_text(texts[1])), "replace({0}, {1}, {2})"),
        examples=(example("hello", "l", "L", gives="heLLo"),),
    ),
    FunctionRow(
        names=("LPAD",),
        doc="Filled at the start to a length, or cut to it.",
        signatures=(signature(TEXT, INTEGER, TEXT),),
        result=STRING,
        meaning=strings.lpad,
        spark=where(_padding, "lpad({0}, {1}, {2})"),
        examples=(example("hi", 5, "xy", gives="xyxhi"),),
    ),
    FunctionRow(
        names=("RPAD",),
        doc="Filled at the end to a length, or cut to it.",
        signatures=(signature(TEXT, INTEGER, TEXT),),
        result=STRING,
        meaning=strings.rpad,
        spark=where(_padding, "rpad({0}, {1}, {2})"),
        examples=(example("hi", 5, "xy", gives="hixyx"),),
    ),
    FunctionRow(
        names=("TRANSLATE", "TRANSLATE3"),
        doc="With characters of a set replaced by those at the same places of another.",
        signatures=(signature(TEXT, TEXT, TEXT),),
        result=STRING,
        nullable=argument_nullable(0),
        strict=False,
        meaning=strings.translate,
        spark=where_types(
            lambda types: not any(type.nullable for type in types[1:]),
            "translate({0}, {1}, {2})",
        ),
        examples=(example("www.apache.org", "abc", "12", gives="www.1p1he.org"),),
    ),
    FunctionRow(
        names=("CONCAT",),
        doc="All strings, one after the other.",
        signatures=(signature(TEXT, rest=(TEXT,)),),
        result=STRING,
        meaning=strings.concat,
        spark=called("concat"),
        examples=(example("a", "b", "c", gives="abc"),),
    ),
    FunctionRow(
        names=("CONCAT_WS",),
        doc="All strings with a separator between them; NULLs are left out.",
        signatures=(signature(TEXT, TEXT, rest=(TEXT,)),),
        result=STRING,
        nullable=any_nullable,
        strict=False,
        meaning=strings.concat_ws,
        spark=called("concat_ws"),
        examples=(example("-", "a", of(None, STRING), "b", gives="a-b"),),
    ),
    FunctionRow(
        names=("REVERSE",),
        doc="From the last character to the first.",
        signatures=(signature(TEXT),),
        result=STRING,
        nullable=True,
        meaning=strings.reverse,
        inline="{0}[::-1]",
        spark="reverse({0})",
        examples=(example("abc", gives="cba"),),
    ),
    FunctionRow(
        names=("STR_TO_MAP",),
        doc="A map of pairs; the delimiters, by default `,` and `=`, are regular expressions.",
        signatures=(signature(TEXT), signature(TEXT, TEXT, TEXT)),
        result=MapType(STRING, STRING),
        nullable=True,
        meaning=strings.str_to_map,
        examples=(example("a=1,b", gives={"a": "1", "b": None}),),
    ),
    FunctionRow(
        names=("ELT",),
        doc="The value at a position of those that follow, from 1; NULL if there is none.",
        signatures=(
            signature(INTEGER, TEXT, rest=(TEXT,), prepare=_counted),
            signature(INTEGER, BINARY, rest=(BINARY,), prepare=_counted),
        ),
        result=_common_after_first,
        nullable=True,
        strict=False,
        meaning=strings.elt,
        examples=(example(2, "a", "bb", gives="bb"), example(3, "a", "bb", gives=None)),
    ),
    FunctionRow(
        names=("PRINTF",),
        doc="Values in a format of Java; NULL if they do not fit it.",
        signatures=(signature(TEXT, rest=(ANY,)),),
        result=STRING,
        nullable=True,
        strict=False,
        meaning=printf.printf,
        by_type=True,
        examples=(example("%d|%-3s|%05d", 1, "x", 7, gives="1|x  |00007"),),
    ),
    FunctionRow(
        names=("IS_ALPHA",),
        doc="Whether there are letters only.",
        signatures=(signature(TEXT),),
        result=BOOLEAN,
        nullable=False,
        strict=False,
        meaning=strings.is_alpha,
        examples=(example("abc", gives=True), example("a1", gives=False)),
    ),
    FunctionRow(
        names=("IS_DIGIT",),
        doc="Whether there are digits only.",
        signatures=(signature(TEXT),),
        result=BOOLEAN,
        nullable=False,
        strict=False,
        meaning=strings.is_digit,
        examples=(example("12", gives=True), example("1.2", gives=False)),
    ),
    FunctionRow(
        names=("IS_DECIMAL",),
        doc="Whether it is a number.",
        signatures=(signature(TEXT),),
        result=BOOLEAN,
        nullable=False,
        strict=False,
        meaning=strings.is_decimal,
        examples=(example("1.2", gives=True), example("x", gives=False)),
    ),
    *text_parts.FUNCTIONS,
)
