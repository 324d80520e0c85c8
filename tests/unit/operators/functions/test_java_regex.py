"""Java's regular expressions in Python."""

from __future__ import annotations

import pytest

from headrace.errors import Unsupported
from headrace.operators.functions.java_regex import compiled


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"(?<word>a+)\k<word>", "aaaa", "aaaa"),
        (r"a(?i)b|c", "xaB", "aB"),
        (r"a(?i)b|c", "C", "C"),
        (r"(a(?i)b)c", "aBc", "aBc"),
        (r"(a(?i)b)c", "aBC", None),
        (r"(?s)a.b", "a\nb", "a\nb"),
        (r"a.b", "a\rb", None),
        (r"[a-z&&[^b]]+", "abc", "a"),
        (r"[a[bc]d]+", "xabcd", "abcd"),
        (r"[^a-c&&[^b]]", "ab", "b"),
        (r"[]a]+", "a]", "a]"),
        (r"\p{L}+", "1éa", "éa"),
        (r"\P{L}+", "é1", "1"),
        (r"[\p{Alpha}\d]+", "é a1", "a1"),
        (r"\p{IsLatin}+", "жab", "ab"),
        (r"\p{InCyrillic}+", "жab", "ж"),
        (r"\Qa.b\E+", "a.bb", "a.bb"),
        (r"a++a", "aaa", None),
        (r"(?>a+)b", "aab", "aab"),
        (r"\w+", "aéb", "a"),
        (r"(?i)É", "é", None),
        (r"(?iu)É", "é", "é"),
        (r"\h+", "a \tb", " \t"),
        (r"\x{61}\x62\0143", "abc", "abc"),
        (r"a\z", "ba", "a"),
        (r"a\Z", "ba\n", "a"),
        (r"\R", "a\r\n", "\r\n"),
    ],
)
def test_matches_as_in_java(pattern: str, text: str, found: str | None) -> None:
    regex = compiled(pattern)
    assert regex is not None
    match = regex.search(text)
    assert (match and match[0]) == found


@pytest.mark.parametrize("pattern", ["(", ")", "[a", "a\\", r"\y", "*a"])
def test_what_java_refuses_is_no_pattern(pattern: str) -> None:
    assert compiled(pattern) is None


@pytest.mark.parametrize("pattern", [r"\Ga", r"(?<=a|bc)d", r"\p{IsTibetan}"])
def test_what_python_cannot_do_is_said(pattern: str) -> None:
    with pytest.raises(Unsupported, match="regular expression"):
        compiled(pattern)
