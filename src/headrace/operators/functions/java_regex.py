"""Java's regular expressions, as Python patterns.

Flink's REGEXP functions speak Java's dialect. Most of it is Python's too; what differs is
translated here, and what Python cannot do is refused in words instead of matching something else.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.errors import Unsupported
from headrace.operators.functions.character_classes import ANY_BUT_LINE_ENDS, escape_in_class, named

_SIMPLE_ESCAPES = {"e": "\\x1b", "z": "\\Z", "R": "(?:\\r\\n|[\\n\\x0b\\f\\r\\x85\\u2028\\u2029])",
                   "Z": "(?=(?:\\r\\n|[\\n\\r\\x85\\u2028\\u2029])?\\Z)"}  # fmt: skip
_CLASS_ESCAPES = {"h": "[ \\t\\xa0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000]",
                  "v": "[\\n\\x0b\\f\\r\\x85\\u2028\\u2029]"}  # fmt: skip
_FLAGS = re.compile(r"\(\?([idmsuxU]*)(?:-([idmsuxU]*))?([:)])")


class _Invalid(Exception):
    """The pattern is none in Java either."""


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern, or None if Java would refuse it too."""
    try:
        # Java's \d, \w, \s and case folding are those of ASCII unless flags ask for more.
        return re.compile(_Translation(pattern).text(), re.ASCII)
    except _Invalid:
        return None
    except re.error as error:
        if "fixed-width" in str(error):
            raise Unsupported(
                f"the regular expression {pattern!r} looks behind at a text of varying length",
                hint="Write the alternatives of the look-behind with equal lengths.",
            ) from None
        return None


class _Translation:
    """One pass over a pattern. `wraps` counts, per open group, the `(?i:` that stand for a flag
    written in the middle, which ends with its group; each alternative needs its own."""

    def __init__(self, pattern: str):
        self._pattern = pattern
        self._at = 0
        self._out: list[str] = []
        self._wraps: list[list[str]] = [[]]
        self._dot_all: list[bool] = [False]

    def text(self) -> str:
        while self._at < len(self._pattern):
            self._step(self._pattern[self._at])
        self._out.append(")" * len(self._wraps[-1]))
        if len(self._wraps) > 1:
            raise _Invalid
        return "".join(self._out)

    def _step(self, char: str) -> None:
        if char == "\\":
            self._out.append(self._escape())
        elif char == "[":
            self._out.append(self._class())
        elif char == "(":
            self._open()
        elif char == ")":
            self._close()
        elif char == "|":
            wraps = self._wraps[-1]
            self._emit(")" * len(wraps) + "|" + "".join(wraps))
        elif char == "." and not self._dot_all[-1]:
            self._emit(ANY_BUT_LINE_ENDS)
        else:
            self._emit(char)

    def _emit(self, text: str, width: int = 1) -> None:
        self._out.append(text)
        self._at += width

    def _open(self) -> None:
        rest = self._pattern[self._at :]
        flags = _FLAGS.match(rest)
        if flags and (flags[1] or flags[2] or flags[3] == ")"):
            self._flags(flags)
            return
        if rest.startswith("(?<") and rest[3:4] not in ("=", "!"):
            self._emit("(?P<", 3)
        else:
            self._emit("(")
        self._wraps.append([])
        self._dot_all.append(self._dot_all[-1])

    def _flags(self, found: re.Match[str]) -> None:
        on = {"u" if flag in "uU" else flag for flag in found[1] if flag != "d"}
        off = {flag for flag in found[2] or "" if flag not in "duU"}
        dot_all = "s" in on or (self._dot_all[-1] and "s" not in off)
        minus = f"-{''.join(sorted(off))}" if off else ""
        opening = f"(?{''.join(sorted(on))}{minus}:"
        self._emit(opening, len(found[0]))
        if found[3] == ":":
            self._wraps.append([])
            self._dot_all.append(dot_all)
        else:
            self._wraps[-1].append(opening)
            self._dot_all[-1] = dot_all

    def _close(self) -> None:
        if len(self._wraps) == 1:
            raise _Invalid
        self._dot_all.pop()
        self._emit(")" * len(self._wraps.pop()) + ")")

    def _escape(self) -> str:
        """The escape at the position, as a pattern."""
        char = self._pattern[self._at + 1 : self._at + 2]
        if char == "Q":
            return re.escape(self._quoted())
        if char == "k":
            name = re.compile(r"\\k<(\w+)>").match(self._pattern, self._at)
            if name is None:
                raise _Invalid
            self._at = name.end()
            return f"(?P={name[1]})"
        if char in ("G", "X", "N"):
            raise Unsupported(f"\\{char} in regular expressions", hint="Write it in other words.")
        if char in ("b", "B"):  # Boundaries of words know all letters, other than \w.
            self._at += 2
            return f"(?u:\\{char})"
        if char in _SIMPLE_ESCAPES:
            self._at += 2
            return _SIMPLE_ESCAPES[char]
        return self._member()

    def _quoted(self) -> str:
        end = self._pattern.find("\\E", self._at)
        end = len(self._pattern) if end < 0 else end
        text = self._pattern[self._at + 2 : end]
        self._at = end + 2
        return text

    def _member(self) -> str:
        """The escape at the position, which may stand in a character class too."""
        pattern, at = self._pattern, self._at
        char = pattern[at + 1 : at + 2]
        if char == "":
            raise _Invalid
        self._at += 2
        if char in "pP":
            return self._property(char == "P")
        if char in "hHvV":
            inside = _CLASS_ESCAPES[char.lower()]
            return inside if char.islower() else "[^" + inside[1:]
        if char == "x" and pattern[at + 2 : at + 3] == "{":
            end = pattern.find("}", at)
            self._at = end + 1
            return _literal(int(pattern[at + 3 : end], 16))
        if char == "0":
            octal = re.compile(r"[0-3]?[0-7]{1,2}").match(pattern, at + 2)
            if octal is None:
                raise _Invalid
            self._at = octal.end()
            return _literal(int(octal[0], 8))
        if char == "c":
            self._at += 1
            return _literal(ord(pattern[at + 2 : at + 3] or "@") ^ 64)
        if char.isalpha() and char.isascii() and char not in "abBdDwWsSAtnrfxu":
            raise _Invalid
        return pattern[at : at + 2]

    def _property(self, negated: bool) -> str:
        found = re.compile(r"\{(\^?)([^}]*)\}|(\w)").match(self._pattern, self._at)
        if found is None:
            raise _Invalid
        self._at = found.end()
        return named(found[2] or found[3], negated != bool(found[1]))

    def _class(self) -> str:
        """The character class at the position: `[…]` with unions and intersections."""
        self._at += 1
        negated = self._pattern[self._at : self._at + 1] == "^"
        self._at += negated
        operands: list[str] = []
        singles: list[str] = []
        nested: list[str] = []
        first = True
        while True:
            char = self._pattern[self._at : self._at + 1]
            if char == "":
                raise _Invalid
            if char == "]" and not first:
                break
            first = False
            if self._pattern.startswith("&&", self._at):
                self._at += 2
                operands.append(_union(singles, nested))
                singles, nested = [], []
            elif char == "[":
                nested.append(self._class())
            else:
                self._class_item(char, singles, nested)
        self._at += 1
        operands.append(_union(singles, nested))
        return _intersection([text for text in operands if text], negated)

    def _class_item(self, char: str, singles: list[str], nested: list[str]) -> None:
        if char != "\\":
            singles.append(char if char == "-" else escape_in_class(char))
            self._at += 1
        elif self._pattern.startswith("\\Q", self._at):
            singles.extend(map(escape_in_class, self._quoted()))
        else:
            text = self._member()
            if text.startswith("["):
                nested.append(text)
            else:
                singles.append(text)


def _literal(code: int) -> str:
    return f"\\U{code:08x}"


def _union(singles: list[str], nested: list[str]) -> str:
    parts = ([f"[{''.join(singles)}]"] if singles else []) + nested
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})" if parts else ""


def _intersection(operands: list[str], negated: bool) -> str:
    if not operands:
        raise _Invalid
    if len(operands) == 1 and negated and operands[0].startswith("["):
        inner = operands[0]
        return f"[{inner[2:]}" if inner.startswith("[^") else f"[^{inner[1:]}"
    both = "".join(f"(?={text})" for text in operands[:-1]) + operands[-1]
    return f"(?!{both})[\\s\\S]" if negated else f"(?:{both})" if len(operands) > 1 else both
