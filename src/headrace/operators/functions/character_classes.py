"""Character classes that Java's regular expressions name and Python's do not."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from headrace.errors import Unsupported

ANY_BUT_LINE_ENDS = "[^\\n\\r\\x85\\u2028\\u2029]"
"""What a dot means in Java."""

_POSIX = {
    "Lower": "a-z", "Upper": "A-Z", "ASCII": "\\x00-\\x7f", "Alpha": "a-zA-Z", "Digit": "0-9",
    "Alnum": "a-zA-Z0-9", "Punct": "!-/:-@\\[-`{-~", "Graph": "!-~", "Print": " -~",
    "Blank": " \\t", "Cntrl": "\\x00-\\x1f\\x7f", "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0b\\f\\r",
}  # fmt: skip
_TESTS: dict[str, Callable[[str], bool]] = {
    "alphabetic": str.isalpha, "letter": str.isalpha, "lowercase": str.islower,
    "uppercase": str.isupper, "digit": str.isdigit, "white_space": str.isspace,
    "titlecase": str.istitle,
}  # fmt: skip
_BLOCKS = {"basiclatin": (0, 0x7F), "latin1supplement": (0x80, 0xFF), "greek": (0x370, 0x3FF),
           "cyrillic": (0x400, 0x4FF), "hebrew": (0x590, 0x5FF), "arabic": (0x600, 0x6FF),
           "thai": (0xE00, 0xE7F), "hiragana": (0x3040, 0x309F), "katakana": (0x30A0, 0x30FF),
           "cjkunifiedideographs": (0x4E00, 0x9FFF),
           "hangulsyllables": (0xAC00, 0xD7AF)}  # fmt: skip
_SCRIPTS = {"islatin": "LATIN ", "isgreek": "GREEK ", "iscyrillic": "CYRILLIC ",
            "ishan": "CJK UNIFIED IDEOGRAPH", "ishiragana": "HIRAGANA ", "iskatakana": "KATAKANA ",
            "isarabic": "ARABIC ", "ishebrew": "HEBREW ", "isthai": "THAI ",
            "ishangul": "HANGUL "}  # fmt: skip
_CATEGORY = re.compile(r"(?:Is|general_category=|gc=)?([A-Z][a-z]?)")


def escape_in_class(char: str) -> str:
    """A character as itself between brackets."""
    return "\\" + char if char in "\\[]^-&~|" else char


@lru_cache(maxsize=128)
def named(name: str, negated: bool) -> str:
    """`\\p{name}` as a class between brackets."""
    inside = _POSIX.get(name)
    if inside is None:
        inside = _of_unicode(name)
    return f"[{'^' if negated else ''}{inside}]"


def _of_unicode(name: str) -> str:
    category = _CATEGORY.fullmatch(name)
    if category:
        wanted = category[1]
        return _ranges(lambda char: unicodedata.category(char).startswith(wanted))
    plain = name.lower()
    for prefix in ("java", "is"):
        test = _TESTS.get(plain.removeprefix(prefix))
        if plain.startswith(prefix) and test is not None:
            return _ranges(test)
    if plain.startswith("in") and plain[2:].replace("_", "").replace(" ", "") in _BLOCKS:
        low, high = _BLOCKS[plain[2:].replace("_", "").replace(" ", "")]
        return f"\\U{low:08x}-\\U{high:08x}"
    script = _SCRIPTS.get(plain.replace("script=", "is"))
    if script is not None:
        return _ranges(lambda char: unicodedata.name(char, "").startswith(script))
    raise Unsupported(
        f"the character class \\p{{{name}}} in regular expressions",
        hint="Write its characters as ranges, such as [a-z].",
    )


def _ranges(test: Callable[[str], bool]) -> str:
    """All characters that pass, as ranges of a class."""
    parts: list[str] = []
    start: int | None = None
    for code in range(sys.maxunicode + 2):
        passes = code <= sys.maxunicode and test(chr(code))
        if passes and start is None:
            start = code
        elif not passes and start is not None:
            parts.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(parts)
