"""LIKE and SIMILAR TO: SQL patterns as regular expressions."""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.errors import InvalidQuery

_SIMILAR_SPECIALS = "[]()|^-+*%?_{}"
_CLASSES = {"ALPHA": "[a-zA-Z]", "UPPER": "[A-Z]", "LOWER": "[a-z]", "DIGIT": "[0-9]",
            "SPACE": "[ ]", "WHITESPACE": "[ \\t\\n\\r\\f\\x0b]",
            "ALNUM": "[a-zA-Z0-9]"}  # fmt: skip


def like(text: str, pattern: str, escape: str | None = None) -> bool:
    return like_pattern(pattern, escape).fullmatch(text) is not None


def not_like(text: str, pattern: str, escape: str | None = None) -> bool:
    return like_pattern(pattern, escape).fullmatch(text) is None


def similar(text: str, pattern: str, escape: str | None = None) -> bool:
    return _similar_pattern(pattern, escape).fullmatch(text) is not None


def not_similar(text: str, pattern: str, escape: str | None = None) -> bool:
    return _similar_pattern(pattern, escape).fullmatch(text) is None


@lru_cache(maxsize=512)
def like_pattern(pattern: str, escape: str | None = None) -> re.Pattern[str]:
    """The regular expression; an empty `escape` is none."""
    mark = _escape_character(escape)
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == mark:
            at += 1
            follower = pattern[at : at + 1]
            if follower == "" or follower not in ("%", "_", mark):
                raise _invalid_escape(pattern, at - 1)
            parts.append(re.escape(follower))
        else:
            parts.append(".*" if char == "%" else "." if char == "_" else re.escape(char))
        at += 1
    return re.compile("".join(parts), re.DOTALL)


def _escape_character(escape: str | None) -> str | None:
    if not escape:
        return None
    if len(escape) > 1:
        raise InvalidQuery(
            f"the escape {escape!r} has more than one character",
            hint="Give a single character after ESCAPE.",
        )
    return escape


def _invalid_escape(pattern: str, at: int) -> InvalidQuery:
    return InvalidQuery(
        f"the escape at character {at + 1} of the pattern {pattern!r} escapes nothing",
        hint="Only %, _ and the escape character itself can be escaped.",
    )


@lru_cache(maxsize=512)
def _similar_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    try:
        return re.compile(_similar_text(pattern, _escape_character(escape)), re.DOTALL)
    except re.error as error:
        raise InvalidQuery(f"the SIMILAR TO pattern {pattern!r} is invalid: {error}") from None


def _similar_text(pattern: str, mark: str | None) -> str:
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == mark:
            follower = pattern[at + 1 : at + 2]
            if follower == "" or (follower not in _SIMILAR_SPECIALS and follower != mark):
                raise _invalid_escape(pattern, at)
            parts.append(re.escape(follower))
            at += 2
        elif char == "[":
            text, at = _character_class(pattern, at, mark)
            parts.append(text)
        else:
            parts.append(_similar_character(char))
            at += 1
    return "".join(parts)


def _similar_character(char: str) -> str:
    if char == "%":
        return ".*"
    if char == "_":
        return "."
    # A dot and a caret mean to Flink what they mean in regular expressions.
    return char if char in "()|+*?{},.^0123456789" else re.escape(char)


def _character_class(pattern: str, start: int, mark: str | None) -> tuple[str, int]:
    """The class that starts there, as text, and where it ends."""
    named = re.compile(r"\[:(\w+):\]").match(pattern, start)
    if named and named[1].upper() in _CLASSES:
        return _CLASSES[named[1].upper()], named.end()
    parts = ["["]
    at = start + 1
    while at < len(pattern) and pattern[at] != "]":
        char = pattern[at]
        named = re.compile(r"\[:(\w+):\]").match(pattern, at)
        if named and named[1].upper() in _CLASSES:
            parts.append(_CLASSES[named[1].upper()][1:-1])
            at = named.end()
            continue
        if char == mark:
            at += 1
            char = pattern[at : at + 1]
        parts.append("\\" + char if char in "\\[&~|" else char)
        at += 1
    if at >= len(pattern):
        raise InvalidQuery(f"the SIMILAR TO pattern {pattern!r} has an open bracket")
    return "".join((*parts, "]")), at + 1
