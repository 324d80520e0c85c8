"""Statements with `?` for values, as JDBC has them, in the form that Python's drivers take."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.connectors.jdbc.addresses import MYSQL, POSTGRESQL
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

_TEXT = r"""
        (?<!\w)[Ee]'(?:[^'\\]|''|\\.)*'        # PostgreSQL's texts with backslashes
      | '(?:[^']|'')*' | --[^\n]*
"""
_TEXT_WITH_BACKSLASHES = r"""
        '(?:[^'\\]|''|\\.)*' | "(?:[^"\\]|""|\\.)*\"
      | \#[^\n]* | --(?=\s|\Z)[^\n]*          # MySQL's comments
"""
_OTHERS = r"""
      | "(?:[^"]|"")*" | `(?:[^`]|``)*`       # quoted names
      | /\*.*?\*/
      | (?P<dollar>\$\w*\$).*?(?P=dollar)     # PostgreSQL's other quotes
      | (?P<escaped>\?\?) | (?P<marker>\?) | %
"""
_FLAGS = re.VERBOSE | re.DOTALL
_PARTS = {
    POSTGRESQL: re.compile(_TEXT + _OTHERS, _FLAGS),
    MYSQL: re.compile(_TEXT_WITH_BACKSLASHES + _OTHERS, _FLAGS),
}
_ONE_ROW = re.compile(
    r"(?P<head>\s*INSERT\s[^'%]*?\sVALUES\s*)(?P<row>\(\s*%s(?:\s*,\s*%s)*\s*\))(?P<tail>[^%]*)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class Statement:
    """A statement for a driver, and how many values it takes."""

    text: str
    values: int
    given: str
    """As the user wrote it."""

    def of_rows(self, count: int) -> str | None:
        """The same for so many rows at once, if it is an INSERT of one row's values."""
        parts = _ONE_ROW.fullmatch(self.text)
        if parts is None or parts["row"].count("%s") != self.values:
            return None
        return f"{parts['head']}{', '.join([parts['row']] * count)}{parts['tail']}"


def parse_statement(sql: object, kind: str) -> Statement:
    """Find the places of values; `?` within texts, names and comments are none, and `??` is the
    character itself, as in JDBC."""
    if not isinstance(sql, str) or not sql.strip():
        raise InvalidArgument("the statement is empty", origin=calling_origin())
    count = 0

    def replace(part: re.Match[str]) -> str:
        nonlocal count
        if part["marker"]:
            count += 1
            return "%s"
        if part["escaped"]:
            return "?"
        return part[0].replace("%", "%%")

    return Statement(_PARTS[kind].sub(replace, sql), count, sql)
