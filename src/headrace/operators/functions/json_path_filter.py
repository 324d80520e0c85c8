"""Filters of JSON paths: `(@.price < 10 && @.name =~ /a.*/i)`."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

Test = Callable[[Any], bool]
Operand = Callable[[Any], Any]

_MISSING = object()
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<operator>&&|\|\||==|!=|<=|>=|<|>|=~|!|\(|\)|\]|\b(?:in|nin|contains|size|empty)\b)
    |(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<constant>true|false|null)\b
    |(?P<regex>/(?:[^/\\]|\\.)*/i?)
    |(?P<list>\[[^\]]*\])
    |(?P<path>[@$](?:\.\.?[\w*-]+(?:\(\))?|\[(?:'[^']*'|"[^"]*"|-?\d+|\*)\])*)
    )""",
    re.VERBOSE,
)
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "=~", "in", "nin", "contains", "size", "empty")


class InvalidFilter(ValueError):
    """A filter that is none."""


class _Path(Protocol):
    def read(self, document: Any) -> Any: ...


def parsed(text: str, at: int, path: Callable[[str], _Path]) -> tuple[Test, int]:
    """The filter that starts there, and where the bracket behind it ends."""
    reader = _Reader(text, at, path)
    test = reader.alternatives()
    if reader.take() != "]":
        raise InvalidFilter("the filter does not end with a bracket")
    return test, reader.at


class _Reader:
    def __init__(self, text: str, at: int, path: Callable[[str], _Path]):
        self._text = text
        self.at = at
        self._path = path

    def _token(self) -> re.Match[str]:
        found = _TOKEN.match(self._text, self.at)
        if found is None:
            raise InvalidFilter(f"something else is expected at character {self.at + 1}")
        return found

    def _peek(self) -> str | None:
        return self._token()["operator"]

    def take(self) -> str:
        found = self._token()
        self.at = found.end()
        return found[0].strip()

    def alternatives(self) -> Test:
        tests = [self._all_of()]
        while self._peek() == "||":
            self.take()
            tests.append(self._all_of())
        return tests[0] if len(tests) == 1 else lambda node: any(test(node) for test in tests)

    def _all_of(self) -> Test:
        tests = [self._one()]
        while self._peek() == "&&":
            self.take()
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda node: all(test(node) for test in tests)

    def _one(self) -> Test:
        operator = self._peek()
        if operator == "!":
            self.take()
            inner = self._one()
            return lambda node: not inner(node)
        if operator == "(":
            self.take()
            inside = self.alternatives()
            if self.take() != ")":
                raise InvalidFilter("a parenthesis is open")
            return inside
        left = self._operand()
        comparison = self._peek()
        if comparison not in _COMPARISONS:
            return lambda node: left(node) is not _MISSING
        self.take()
        right = self._operand()
        return lambda node: _compared(comparison, left(node), right(node))

    def _operand(self) -> Operand:
        found = self._token()
        self.at = found.end()
        if found["operator"]:
            raise InvalidFilter(f"a value is expected before {found['operator']!r}")
        if found["path"]:
            return self._read(found["path"])
        value = _constant(found)
        return lambda _node: value

    def _read(self, text: str) -> Operand:
        path = self._path("$" + text[1:])

        def read(node: Any) -> Any:
            try:
                return path.read(node)
            except ValueError:
                return _MISSING

        return read


def _constant(found: re.Match[str]) -> Any:
    if found["text"]:
        return re.sub(r"\\(.)", r"\1", found["text"][1:-1])
    if found["number"]:
        return Decimal(found["number"])
    if found["constant"]:
        return {"true": True, "false": False, "null": None}[found["constant"]]
    if found["regex"]:
        body, _slash, flags = found["regex"][1:].rpartition("/")
        return re.compile(body, re.IGNORECASE if flags else 0)
    return [_item(part) for part in found["list"][1:-1].split(",")]


def _item(text: str) -> Any:
    found = _TOKEN.fullmatch(text.strip())
    if found is None:
        raise InvalidFilter(f"{text!r} is no value")
    return _constant(found)


def _compared(comparison: str, left: Any, right: Any) -> bool:
    if left is _MISSING or right is _MISSING:
        return comparison in ("!=", "nin") and left is not right
    if comparison in ("==", "!="):
        return _equal(left, right) == (comparison == "==")
    if comparison == "=~":
        return isinstance(left, str) and right.fullmatch(left) is not None
    if comparison in ("in", "nin"):
        return any(_equal(left, item) for item in right) == (comparison == "in")
    if comparison == "contains":
        return right in left if isinstance(left, str | list) else False
    if comparison in ("size", "empty"):
        length = len(left) if isinstance(left, str | list) else -1
        return bool(length == right if comparison == "size" else (length == 0) == right)
    return _ordered(comparison, left, right)


def _equal(left: Any, right: Any) -> bool:
    same_kind = isinstance(left, bool) == isinstance(right, bool)
    return same_kind and bool(left == right)


def _ordered(comparison: str, left: Any, right: Any) -> bool:
    numbers = all(
        isinstance(side, int | Decimal) and not isinstance(side, bool) for side in (left, right)
    )
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return False
    if comparison.startswith("<"):
        return bool(left < right) or (comparison == "<=" and left == right)
    return bool(left > right) or (comparison == ">=" and left == right)
