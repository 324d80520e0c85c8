"""What makers of Spark forms ask of arguments: forms are only given where Spark means the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from headrace.core.expressions import SparkForm
from headrace.core.logical_types import LogicalType

_LITERAL = re.compile(r"(?:CAST\()?'((?:[^'\\]|\\.|'')*)'(?: AS STRING\))?", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_COUNT = re.compile(r"[0-9]{1,9}")


def constant_text(text: str) -> str | None:
    """What a text literal of Spark SQL says; None if it is something else."""
    found = _LITERAL.fullmatch(text)
    if found is None:
        return None
    return _ESCAPE.sub(_unescaped, found[1].replace("''", "'"))


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]


def is_count(text: str) -> bool:
    """Whether it is a literal number that is not negative."""
    return _COUNT.fullmatch(text) is not None


def where(test: Callable[[Sequence[str]], bool], form: str) -> SparkForm:
    """The form if the arguments' texts pass."""

    def write(
        texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        return form.format(*texts) if test(texts) else None

    return write


def where_types(test: Callable[[Sequence[LogicalType]], bool], form: str) -> SparkForm:
    """The form if the arguments' types pass."""

    def write(
        texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        return form.format(*texts) if test(types) else None

    return write


def called(name: str) -> SparkForm:
    """Spark's function of that name with all arguments as they are."""

    def write(texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType) -> str:
        return f"{name}({', '.join(texts)})"

    return write
