"""Functions that find parts of a text, and take or change them."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.logical_types import (
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
    LogicalType,
)
from headrace.operators.functions import strings
from headrace.sql.functions import spark_texts
from headrace.sql.functions.parameters import BINARY, INTEGER, TEXT, literal
from headrace.sql.functions.row import (
    FunctionRow,
    example,
    signature,
)
from headrace.sql.functions.spark_forms import called, constant_text, is_count, where
from headrace.sql.functions.text_types import joined_varying, varying


def _trim(texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType) -> str | None:
    mode = constant_text(texts[0])
    return None if mode is None else f"trim({mode.upper()} {texts[1]} FROM {texts[2]})"


def _counts_from(position: int, texts: Sequence[str]) -> bool:
    return all(map(is_count, texts[position:]))


_SIDES = ("BOTH", "LEADING", "TRAILING")
_SUBSTRING = where(lambda texts: _counts_from(1, texts), "substring({0}, {1})")
_SUBSTRING_FOR = where(lambda texts: _counts_from(1, texts), "substring({0}, {1}, {2})")

FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("POSITION",),
        doc="Where the first string is found in the second, from 1; 0 if nowhere.",
        signatures=(signature(TEXT, TEXT),),
        result=INT,
        meaning=strings.position,
        spark="locate({0}, {1})",
        examples=(example("l", "hello", gives=3),),
    ),
    FunctionRow(
        names=("INSTR",),
        doc="Where the second string is found in the first, from 1; 0 if nowhere.",
        signatures=(signature(TEXT, TEXT, optional=(INTEGER, INTEGER)),),
        result=INT,
        meaning=strings.instr,
        spark=where(lambda texts: len(texts) == 2, "instr({0}, {1})"),
        examples=(example("hello", "l", gives=3), example("hello", "l", -1, gives=4)),
    ),
    FunctionRow(
        names=("LOCATE",),
        doc="Where the first string is found in the second, from a position on; 0 if nowhere.",
        signatures=(signature(TEXT, TEXT, optional=(INTEGER,)),),
        result=INT,
        meaning=strings.locate,
        spark=where(lambda texts: len(texts) == 2, "locate({0}, {1})"),
        examples=(example("l", "hello", 4, gives=4),),
    ),
    FunctionRow(
        names=("SUBSTRING", "SUBSTR", "MID"),
        doc="The characters from a position on, of which a negative one counts from the end.",
        signatures=(signature(TEXT, INTEGER), signature(TEXT, INTEGER, INTEGER)),
        result=varying(0),
        nullable=True,
        meaning=strings.substring,
        spark=lambda texts, types, result: (_SUBSTRING if len(texts) == 2 else _SUBSTRING_FOR)(
            texts, types, result
        ),  # type: ignore[operator]
        examples=(example("hello", 2, 3, gives="ell"), example("hello", -3, gives="llo")),
    ),
    FunctionRow(
        names=("LEFT",),
        doc="The first characters.",
        signatures=(signature(TEXT, INTEGER),),
        result=varying(0),
        nullable=True,
        meaning=strings.left,
        spark="left({0}, {1})",
        examples=(example("hello", 2, gives="he"),),
    ),
    FunctionRow(
        names=("RIGHT",),
        doc="The last characters.",
        signatures=(signature(TEXT, INTEGER),),
        result=varying(0),
        nullable=True,
        meaning=strings.right,
        spark="right({0}, {1})",
        examples=(example("hello", 2, gives="lo"),),
    ),
    FunctionRow(
        names=("TRIM",),
        doc="Without characters of a set at both ends, or one: `TRIM(LEADING 'x' FROM s)`.",
        signatures=(signature(literal(TEXT, *_SIDES), TEXT, TEXT),),
        result=varying(2),
        meaning=strings.trim,
        spark=_trim,
        examples=(example("LEADING", "x", "xxaxx", gives="axx"),),
    ),
    FunctionRow(
        names=("LTRIM",),
        doc="Without blanks, or characters of a set, at the start.",
        signatures=(signature(TEXT, optional=(TEXT,)),),
        result=varying(0),
        meaning=strings.ltrim,
        spark=lambda texts, _types, _result: f"ltrim({', '.join(reversed(texts))})",
        examples=(example("xyxa", "xy", gives="a"),),
    ),
    FunctionRow(
        names=("RTRIM",),
        doc="Without blanks, or characters of a set, at the end.",
        signatures=(signature(TEXT, optional=(TEXT,)),),
        result=varying(0),
        meaning=strings.rtrim,
        spark=lambda texts, _types, _result: f"rtrim({', '.join(reversed(texts))})",
        examples=(example("axy", "yx", gives="a"),),
    ),
    FunctionRow(
        names=("BTRIM",),
        doc="Without blanks, or characters of a set, at both ends.",
        signatures=(signature(TEXT, optional=(TEXT,)),),
        result=STRING,
        meaning=strings.btrim,
        spark=called("btrim"),
        examples=(example(" a ", gives="a"), example("xax", "x", gives="a")),
    ),
    FunctionRow(
        names=("OVERLAY",),
        doc="With characters from a position on replaced by another string.",
        signatures=(signature(TEXT, TEXT, INTEGER, optional=(INTEGER,)),),
        result=joined_varying,
        meaning=strings.overlay,
        examples=(example("xxxxxtest", "xxxx", 6, 2, gives="xxxxxxxxxst"),),
    ),
    FunctionRow(
        names=("STARTSWITH",),
        doc="Whether it starts with another string.",
        signatures=(signature(TEXT, TEXT), signature(BINARY, BINARY)),
        result=BOOLEAN,
        meaning=strings.starts_with,
        inline="{0}.startswith({1})",
        spark="startswith({0}, {1})",
        examples=(example("abc", "ab", gives=True),),
    ),
    FunctionRow(
        names=("ENDSWITH",),
        doc="Whether it ends with another string.",
        signatures=(signature(TEXT, TEXT), signature(BINARY, BINARY)),
        result=BOOLEAN,
        meaning=strings.ends_with,
        inline="{0}.endswith({1})",
        spark="endswith({0}, {1})",
        examples=(example("abc", "bc", gives=True),),
    ),
    FunctionRow(
        names=("SPLIT",),
        doc="The parts between a delimiter; an empty one splits into characters.",
        signatures=(signature(TEXT, TEXT),),
        result=ArrayType(STRING),
        meaning=strings.split,
        examples=(example("a,,b", ",", gives=("a", "", "b")),),
    ),
    FunctionRow(
        names=("SPLIT_INDEX",),
        doc="One of the parts between a delimiter, from 0; the delimiter may be a code.",
        signatures=(signature(TEXT, TEXT, INTEGER), signature(TEXT, INTEGER, INTEGER)),
        result=STRING,
        nullable=True,
        meaning=strings.split_index,
        spark=spark_texts.split_index,
        examples=(example("a,b,c", ",", 1, gives="b"), example("a,b,c", 44, 2, gives="c")),
    ),
)
