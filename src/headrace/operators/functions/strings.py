"""Functions of character strings. Positions count from 1 and characters are code points."""

from __future__ import annotations

import re
from typing import Any

from headrace.operators.functions.java_regex import compiled

_MAX_INT = 2**31 - 1
_DECIMAL = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?\s*")


def concat(*texts: Any) -> Any:
    return b"".join(texts) if isinstance(texts[0], bytes) else "".join(texts)


def concat_ws(separator: str | None, *texts: str | None) -> str | None:
    """NULLs are left out; a separator that is NULL gives NULL."""
    if separator is None:
        return None
    return separator.join(text for text in texts if text is not None)


def initcap(text: str) -> str:
    """A word is a run of letters and digits of ASCII."""
    return re.sub(r"[A-Za-z0-9]+", lambda word: word[0][:1].upper() + word[0][1:].lower(), text)


def substring(text: str, start: int, length: int = _MAX_INT) -> str | None:
    """A negative start counts from the end; 0 is the first character too."""
    if length < 0:
        return None
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[first : first + length] if 0 <= first < len(text) else ""


def left(text: str, length: int) -> str:
    return text[:length] if length > 0 else ""


def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def position(part: str, text: str) -> int:
    return text.find(part) + 1


def instr(text: str, part: str, start: int = 1, occurrence: int = 1) -> int:
    """Where the n-th occurrence is; a negative start searches backwards from there."""
    if occurrence <= 0:
        raise ValueError("the occurrence that INSTR looks for must be positive")
    if start == 0:
        return 0
    if start < 0:
        found = instr(text[::-1], part[::-1], -start, occurrence)
        return found and len(text) + 2 - found - len(part)
    found = 0
    for _ in range(occurrence):
        found = text.find(part, start - 1) + 1
        if found == 0:
            return 0
        start = found + 1
    return found


def locate(part: str, text: str, start: int = 1) -> int:
    return text.find(part, max(start - 1, 0)) + 1 if part else 1


def overlay(text: str, replacement: str, start: int, length: int | None = None) -> str:
    """A start outside of the text changes nothing."""
    if not 0 < start <= len(text):
        return text
    cut = len(replacement) if length is None else length
    kept = text[start - 1 + cut :] if cut > 0 and start + cut <= len(text) else ""
    return text[: start - 1] + replacement + kept


def lpad(text: str, length: int, pad: str) -> str | None:
    if length < 0 or not pad:
        return None
    missing = max(length - len(text), 0)
    return (pad * (missing // len(pad) + 1))[:missing] + text[:length]


def rpad(text: str, length: int, pad: str) -> str | None:
    if length < 0 or not pad:
        return None
    missing = max(length - len(text), 0)
    return text[:length] + (pad * (missing // len(pad) + 1))[:missing]


def trim(mode: str, what: str, text: str) -> str:
    """`what` is a set of characters."""
    if mode.upper() == "LEADING":
        return ltrim(text, what)
    return rtrim(text, what) if mode.upper() == "TRAILING" else btrim(text, what)


def ltrim(text: str, what: str = " ") -> str:
    return text.lstrip(what) if what else text


def rtrim(text: str, what: str = " ") -> str:
    return text.rstrip(what) if what else text


def btrim(text: str, what: str = " ") -> str:
    return text.strip(what) if what else text


def repeat(text: str, times: int) -> str:
    return text * times


def reverse(text: str) -> str:
    return text[::-1]


def starts_with(text: Any, start: Any) -> bool:
    return bool(text.startswith(start))


def ends_with(text: Any, end: Any) -> bool:
    return bool(text.endswith(end))


def translate(text: str | None, source: str | None, target: str | None) -> str | None:
    """Characters of `source` become those at the same place in `target`, or vanish."""
    if text is None or not source:
        return text
    table: dict[int, str] = {}
    for index, char in enumerate(source):
        table.setdefault(ord(char), (target or "")[index : index + 1])
    return text.translate(table)


def elt(index: int | None, *values: Any) -> Any:
    return values[index - 1] if index is not None and 1 <= index <= len(values) else None


def split(text: str, delimiter: str) -> tuple[str, ...]:
    """The delimiter is taken literally; an empty one splits into characters."""
    return tuple(text.split(delimiter)) if delimiter else tuple(text)


def split_index(text: str, delimiter: str | int, index: int) -> str | None:
    """The delimiter may be given as a character's code."""
    if isinstance(delimiter, int):
        if not 1 <= delimiter <= 255:
            return None
        delimiter = chr(delimiter)
    if not text:
        return None
    parts = text.split(delimiter) if delimiter else text.split()
    return parts[index] if 0 <= index < len(parts) else None


def str_to_map(text: str, pairs: str = ",", key_value: str = "=") -> dict[str, str | None]:
    """Both delimiters are regular expressions."""
    result: dict[str, str | None] = {}
    for pair in split_by_pattern(text, pairs) if text else ():
        key, *value = split_by_pattern(pair, key_value, limit=1)
        result[key if value else pair] = value[0] if value else None
    return result


def split_by_pattern(text: str, pattern: str, limit: int = 0) -> list[str]:
    """As Java splits: without empty texts at the end, nor an empty match at the start."""
    found = compiled(pattern)
    if found is None:
        raise ValueError(f"the delimiter {pattern!r} is no regular expression")
    parts: list[str] = []
    end = 0
    for match in found.finditer(text):
        if match.end() == 0 or (limit and len(parts) == limit):
            continue
        parts.append(text[end : match.start()])
        end = match.end()
    parts.append(text[end:])
    while not limit and len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def is_alpha(text: str | None) -> bool:
    return text is not None and text.isalpha()


def is_digit(text: str | None) -> bool:
    return text is not None and text.isdecimal()


def is_decimal(text: str | None) -> bool:
    return text is not None and _DECIMAL.fullmatch(text) is not None
