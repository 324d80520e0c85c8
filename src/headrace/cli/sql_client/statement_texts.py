"""Cutting what was typed, or a script, into statements.

The text may be unfinished or wrong, so it is not parsed: only what could hide a semicolon counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HIDING = re.compile(r"--[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'?|`(?:[^`]|``)*`?|;", re.S)
_COMMENT = re.compile(r"--[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)
_HINT = "/*+"


@dataclass(frozen=True, slots=True)
class StatementText:
    """One statement without its semicolon, and where in the script it begins."""

    text: str
    line: int = 0
    column: int = 0

    @property
    def placed(self) -> str:
        """The statement at its place among blank lines, so that errors name the script's lines."""
        return "\n" * self.line + " " * self.column + self.text


@dataclass(frozen=True, slots=True)
class Pieces:
    """The statements that are complete, and what comes after the last semicolon."""

    complete: tuple[StatementText, ...]
    rest: StatementText
    open_with: str = ""
    """What the rest has begun and not ended: a quote or a comment."""

    @property
    def is_blank(self) -> bool:
        return not self.open_with and is_blank(self.rest.text)


def is_blank(text: str) -> bool:
    """Whether there is nothing to run: only blanks and comments."""
    return not _COMMENT.sub("", text).strip()


def pieces_of(text: str) -> Pieces:
    """Cut a text at its semicolons."""
    found: list[StatementText] = []
    start, open_with = 0, ""
    for match in _HIDING.finditer(text):
        hidden = match.group()
        if hidden == ";":
            found.append(_at(text, start, match.start()))
            start = match.end()
        elif match.end() == len(text):
            open_with = _left_open(hidden)
    complete = tuple(each for each in found if not is_blank(each.text))
    return Pieces(complete, _at(text, start, len(text)), open_with)


def _left_open(hidden: str) -> str:
    if hidden.startswith("/*"):
        return "" if hidden.endswith("*/") and len(hidden) > len("/**") else "/*"
    quote = hidden[0]
    # A doubled quote is one character of the text, so an even number of them closes it.
    return quote if quote in "'`" and hidden.count(quote) % 2 else ""


def _at(text: str, start: int, end: int) -> StatementText:
    skipped = _leading(text[start:end])
    start += skipped
    line = text.count("\n", 0, start)
    column = start - (text.rfind("\n", 0, start) + 1)
    return StatementText(text[start:end].rstrip(), line, column)


def _leading(text: str) -> int:
    """How many characters of blanks and comments come first."""
    at = 0
    while True:
        blanks = len(text[at:]) - len(text[at:].lstrip())
        comment = _COMMENT.match(text, at + blanks)
        if comment is None or comment.group().startswith(_HINT):
            return at + blanks
        at = comment.end()


def statements_of(text: str) -> Iterator[StatementText]:
    """All statements of a script; the last one needs no semicolon."""
    pieces = pieces_of(text)
    yield from pieces.complete
    if not is_blank(pieces.rest.text):
        yield pieces.rest
