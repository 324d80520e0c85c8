"""Expressions: text and bytes."""

from __future__ import annotations

from typing import Any, Self

from headrace.sql import unresolved as un
from headrace.table.expression_base import Derived, ExpressionBase, node_of, said


class StringExpressions(ExpressionBase):
    """Functions of text."""

    char_length: Derived[Self] = Derived("CHAR_LENGTH", "How many characters it has.")
    upper_case: Derived[Self] = Derived("UPPER", "In upper case.")
    lower_case: Derived[Self] = Derived("LOWER", "In lower case.")
    init_cap: Derived[Self] = Derived("INITCAP", "Each word with a capital letter.")
    from_base64: Derived[Self] = Derived("FROM_BASE64", "What a text in base 64 stands for.")
    to_base64: Derived[Self] = Derived("TO_BASE64", "In base 64.")
    ascii: Derived[Self] = Derived("ASCII", "The number of its first character.")
    chr: Derived[Self] = Derived("CHR", "The character of this number.")
    reverse: Derived[Self] = Derived("REVERSE", "Backwards.")
    md5: Derived[Self] = Derived("MD5", "Its MD5 hash.")
    sha1: Derived[Self] = Derived("SHA1", "Its SHA-1 hash.")
    sha224: Derived[Self] = Derived("SHA224", "Its SHA-224 hash.")
    sha256: Derived[Self] = Derived("SHA256", "Its SHA-256 hash.")
    sha384: Derived[Self] = Derived("SHA384", "Its SHA-384 hash.")
    sha512: Derived[Self] = Derived("SHA512", "Its SHA-512 hash.")

    def sha2(self, hash_length: Any) -> Self:
        """Its SHA-2 hash of a length in bits."""
        return self._apply("SHA2", hash_length)

    def concat(self, other: Any) -> Self:
        return self._apply("CONCAT", other)

    def starts_with(self, start_expr: Any) -> Self:
        return self._apply("STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Self:
        return self._apply("ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Self:
        """From a character, counted from 1, to the end or for a length."""
        return self._apply("SUBSTRING", begin_index, said(length))

    def substr(self, begin_index: Any, length: Any = None) -> Self:
        return self._apply("SUBSTR", begin_index, said(length))

    def _trimmed(self, mode: str, character: Any) -> Self:
        what = " " if character is None else character
        return self._made(un.Apply("TRIM", (node_of(mode), node_of(what), self._node)))

    def trim_leading(self, character: Any = None) -> Self:
        """Without spaces, or another character, at its start."""
        return self._trimmed("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Self:
        return self._trimmed("TRAILING", character)

    def trim(self, character: Any = None) -> Self:
        return self._trimmed("BOTH", character)

    def ltrim(self, trim_str: Any = None) -> Self:
        """Without any of some characters at its start."""
        return self._apply("LTRIM", said(trim_str))

    def rtrim(self, trim_str: Any = None) -> Self:
        return self._apply("RTRIM", said(trim_str))

    def btrim(self, trim_str: Any = None) -> Self:
        return self._apply("BTRIM", said(trim_str))

    def replace(self, search: Any = None, replacement: Any = None) -> Self:
        return self._apply("REPLACE", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Self:
        """With each character of one text replaced by the one at its place in another."""
        return self._apply("TRANSLATE", from_str, to_str)

    def like(self, pattern: Any = None, escape: Any = None) -> Self:
        return self._apply("LIKE", pattern, said(escape))

    def similar(self, pattern: Any = None) -> Self:
        return self._apply("SIMILAR", pattern)

    def position(self, haystack: Any = None) -> Self:
        """Where it is in another text, from 1; 0 if it is not."""
        return self._apply("POSITION", haystack)

    def lpad(self, length: Any, pad: Any) -> Self:
        return self._apply("LPAD", length, pad)

    def rpad(self, length: Any, pad: Any) -> Self:
        return self._apply("RPAD", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Self:
        """With another text in place of some of its characters."""
        return self._apply("OVERLAY", new_string, starting, said(length))

    def regexp(self, regex: Any) -> Self:
        """Whether a regular expression is found in it."""
        return self._apply("REGEXP", regex)

    def regexp_count(self, regex: Any) -> Self:
        return self._apply("REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Self:
        return self._apply("REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Self:
        return self._apply("REGEXP_EXTRACT", regex, said(extract_index))

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Self:
        return self._apply("REGEXP_EXTRACT_ALL", regex, said(extract_index))

    def regexp_instr(self, regex: Any) -> Self:
        return self._apply("REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Self:
        return self._apply("REGEXP_SUBSTR", regex)

    def decode(self, charset: Any) -> Self:
        return self._apply("DECODE", charset)

    def encode(self, charset: Any) -> Self:
        return self._apply("ENCODE", charset)

    def left(self, length: Any) -> Self:
        return self._apply("LEFT", length)

    def right(self, length: Any) -> Self:
        return self._apply("RIGHT", length)

    def instr(self, s: Any) -> Self:
        """Where another text is in it, from 1."""
        return self._apply("INSTR", s)

    def locate(self, s: Any, pos: Any = None) -> Self:
        """Where it is in another text, from a place on."""
        return self._apply("LOCATE", s, said(pos))

    def url_decode(self) -> Self:
        return self._apply("URL_DECODE")

    def url_encode(self) -> Self:
        return self._apply("URL_ENCODE")

    def inet_aton(self) -> Self:
        """An IPv4 address as a number."""
        return self._apply("INET_ATON")

    def inet_ntoa(self) -> Self:
        """A number as an IPv4 address."""
        return self._apply("INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Self:
        return self._apply("PARSE_URL", part_to_extract, said(key))

    def printf(self, *obj: Any) -> Self:
        """The format filled in with values."""
        return self._apply("PRINTF", *obj)

    def repeat(self, n: Any) -> Self:
        return self._apply("REPEAT", n)

    def split_index(self, separator: Any, index: Any) -> Self:
        """The part at an index, from 0, between separators."""
        return self._apply("SPLIT_INDEX", separator, index)

    def split(self, delimiter: Any) -> Self:
        """The parts between delimiters as an array."""
        return self._apply("SPLIT", delimiter)

    def str_to_map(self, list_delimiter: Any = None, key_value_delimiter: Any = None) -> Self:
        if list_delimiter is None or key_value_delimiter is None:
            return self._apply("STR_TO_MAP")
        return self._apply("STR_TO_MAP", list_delimiter, key_value_delimiter)

    def elt(self, expr: Any, *exprs: Any) -> Self:
        """The text at this index, from 1."""
        return self._apply("ELT", expr, *exprs)
