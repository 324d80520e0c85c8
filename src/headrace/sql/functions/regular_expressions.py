"""LIKE, SIMILAR TO and the REGEXP functions. Regular expressions are Java's."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.expressions import Expression, Literal, SparkForm
from headrace.core.logical_types import BOOLEAN, INT, STRING, ArrayType, LogicalType
from headrace.operators.functions import like, regexp
from headrace.operators.functions.java_regex import compiled
from headrace.sql.functions import spark_texts
from headrace.sql.functions.parameters import INTEGER, TEXT
from headrace.sql.functions.row import FunctionRow, example, signature
from headrace.sql.functions.spark_forms import constant_text


def _checked(arguments: Sequence[Expression]) -> Sequence[Expression]:
    """A constant pattern that is wrong is found before the query runs."""
    _text, pattern, *escape = arguments
    constant = [part for part in (pattern, *escape) if isinstance(part, Literal)]
    if len(constant) == len(arguments) - 1 and all(part.value is not None for part in constant):
        like.like_pattern(*(part.value for part in constant))
    return arguments


def _like(operator: str) -> SparkForm:
    """Spark escapes by a backslash where Flink escapes by nothing."""

    def write(
        texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        patterns = [constant_text(text) for text in texts[1:]]
        if None in patterns or "\\" in (patterns[0] or ""):
            return None
        escape = f" ESCAPE {texts[2]}" if len(texts) == 3 else ""
        return f"({texts[0]} {operator} {texts[1]}{escape})" if all(patterns[1:]) else None

    return write


def _where_valid(form: str) -> SparkForm:
    """Flink gives NULL for a wrong pattern, which Spark refuses."""

    def write(
        texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        pattern = constant_text(texts[1])
        return form.format(*texts) if pattern and compiled(pattern) is not None else None

    return write


def _replace(texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType) -> str | None:
    """Spark reads $1 in the replacement as a group, Flink does not."""
    replacement = constant_text(texts[2])
    if replacement is None or "$" in replacement or "\\" in replacement:
        return None
    pattern = constant_text(texts[1])
    valid = pattern and compiled(pattern) is not None
    return f"regexp_replace({', '.join(texts)})" if valid else None


_PATTERNS = (signature(TEXT, TEXT, optional=(TEXT,), prepare=_checked),)
_SIMILAR = (signature(TEXT, TEXT, optional=(TEXT,)),)
_REGEXP = (signature(TEXT, TEXT),)
_GROUPS = (signature(TEXT, TEXT, optional=(INTEGER,)),)

FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("LIKE",),
        doc="Whether it matches a pattern: % stands for any text, _ for one character.",
        signatures=_PATTERNS,
        result=BOOLEAN,
        meaning=like.like,
        spark=_like("LIKE"),
        examples=(example("test", "t%s_", gives=True), example("a%", "a!%", "!", gives=True)),
    ),
    FunctionRow(
        names=("NOT_LIKE",),
        doc="Whether it does not match a LIKE pattern.",
        signatures=_PATTERNS,
        result=BOOLEAN,
        meaning=like.not_like,
        spark=_like("NOT LIKE"),
        examples=(example("test", "t%s_", gives=False),),
    ),
    FunctionRow(
        names=("SIMILAR", "SIMILAR_TO"),
        doc="Whether it matches a regular expression of SQL, such as `(a|b)%`.",
        signatures=_SIMILAR,
        result=BOOLEAN,
        meaning=like.similar,
        examples=(example("abc", "(a|b)%", gives=True),),
    ),
    FunctionRow(
        names=("NOT_SIMILAR", "NOT_SIMILAR_TO"),
        doc="Whether it does not match a regular expression of SQL.",
        signatures=_SIMILAR,
        result=BOOLEAN,
        meaning=like.not_similar,
        examples=(example("abc", "(a|b)%", gives=False),),
    ),
    FunctionRow(
        names=("REGEXP",),
        doc="Whether a regular expression is found in it; not if there is nothing in it.",
        signatures=_REGEXP,
        result=BOOLEAN,
        meaning=regexp.regexp,
        spark=_where_valid("({0} RLIKE {1})"),
        examples=(example("foobar", "o+b", gives=True),),
    ),
    FunctionRow(
        names=("REGEXP_COUNT",),
        doc="How often a regular expression matches.",
        signatures=_REGEXP,
        result=INT,
        nullable=True,
        meaning=regexp.count,
        spark=_where_valid("regexp_count({0}, {1})"),
        examples=(example("a1b22", r"\d", gives=3), example("a", "(", gives=None)),
    ),
    FunctionRow(
        names=("REGEXP_EXTRACT",),
        doc="The first match of a regular expression, or a group of it.",
        signatures=_GROUPS,
        result=STRING,
        nullable=True,
        meaning=regexp.extract,
        spark=spark_texts.regexp_extract,
        examples=(example("foothebar", "foo(.*?)(bar)", 2, gives="bar"),),
    ),
    FunctionRow(
        names=("REGEXP_EXTRACT_ALL",),
        doc="A group, by default the first, of all matches of a regular expression.",
        signatures=_GROUPS,
        result=ArrayType(STRING),
        nullable=True,
        meaning=regexp.extract_all,
        examples=(example("1-2, 3-4", r"(\d)-(\d)", 2, gives=("2", "4")),),
    ),
    FunctionRow(
        names=("REGEXP_INSTR",),
        doc="Where a regular expression first matches, from 1; 0 if nowhere.",
        signatures=_REGEXP,
        result=INT,
        nullable=True,
        meaning=regexp.position,
        spark=_where_valid("regexp_instr({0}, {1})"),
        examples=(example("abc1", r"\d", gives=4),),
    ),
    FunctionRow(
        names=("REGEXP_SUBSTR",),
        doc="The first match of a regular expression.",
        signatures=_REGEXP,
        result=STRING,
        nullable=True,
        meaning=regexp.substring,
        spark=_where_valid("regexp_substr({0}, {1})"),
        examples=(example("abc12", r"\d+", gives="12"),),
    ),
    FunctionRow(
        names=("REGEXP_REPLACE",),
        doc="With every match of a regular expression replaced by a text.",
        signatures=(signature(TEXT, TEXT, TEXT),),
        result=STRING,
        meaning=regexp.replace,
        spark=_replace,
        examples=(example("foobar", "o+|b", "$1", gives="f$1$1ar"),),
    ),
)
