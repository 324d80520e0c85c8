"""Where in a SQL text something was written, and which known name was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import SequenceMatcher

_SIMILAR_ENOUGH = 0.6


@dataclass(frozen=True, slots=True)
class Position:
    """A part of a SQL text; lines and columns count from 1."""

    text: str = field(repr=False)
    line: int
    column: int
    length: int = 1

    @classmethod
    def at_offset(cls, text: str, start: int, end: int | None = None) -> Position:
        """Of the characters from `start` up to, not including, `end`."""
        before = text.rfind("\n", 0, start) + 1
        length = 1 if end is None else max(1, end - start)
        return cls(text, text.count("\n", 0, start) + 1, start - before + 1, length)

    @property
    def source_line(self) -> str:
        lines = self.text.split("\n")
        return lines[self.line - 1].rstrip("\r") if self.line <= len(lines) else ""

    def __str__(self) -> str:
        line = self.source_line
        place = f"line {self.line}, column {self.column}"
        if not line.strip():
            return place
        # Tabs stay tabs so that the caret stands under its character in any terminal.
        indent = "".join("\t" if each == "\t" else " " for each in line[: self.column - 1])
        carets = "^" * max(1, min(self.length, len(line) - self.column + 1))
        return f"{place}\n    {line}\n    {indent}{carets}"


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The known name that is most like `name`; None if none is."""
    wanted = name.lower()
    best, best_ratio = None, _SIMILAR_ENOUGH
    for candidate in candidates:
        ratio = SequenceMatcher(None, wanted, candidate.lower()).ratio()
        if ratio >= best_ratio and (best is None or ratio > best_ratio):
            best, best_ratio = candidate, ratio
    return best


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str | None = None) -> str | None:
    """A hint with the closest name, or `otherwise`."""
    found = closest(name, candidates)
    return otherwise if found is None else f"did you mean {found}?"
