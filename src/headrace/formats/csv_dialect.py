"""How fields stand in a line of CSV: cutting lines into fields and putting fields into lines."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["CsvDialect", "CsvRecords"]

# The standard library stops at 128 KiB, which is too short for documents in a field.
csv.field_size_limit(min(sys.maxsize, 2**31 - 1))

# Jackson, which Flink writes with, does not look for what needs quoting in longer texts.
ALWAYS_QUOTED_ABOVE = 24


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The characters with a meaning; None where there is no such character."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    null_literal: str | None = None
    comments: bool = False
    array_delimiter: str = ";"
    line_end: str = "\n"

    def __post_init__(self) -> None:
        for name in ("delimiter", "quote", "escape"):
            char = getattr(self, name)
            if char is not None and (not isinstance(char, str) or len(char) != 1):
                raise InvalidArgument(
                    f"the CSV {name} must be a single character, not {char!r}",
                    origin=calling_origin(),
                )

    def join(self, fields: Iterable[tuple[str | None, bool]]) -> str:
        """A line with its end; each field is its text and whether it may need quotes."""
        return self.delimiter.join(self._written(*field) for field in fields) + self.line_end

    def _written(self, text: str | None, may_need_quotes: bool) -> str:
        if text is None:
            return self.null_literal or ""
        if self.quote is None or not may_need_quotes or not self._needs_quotes(text):
            return text
        if self.escape is not None:
            text = text.replace(self.escape, self.escape * 2)
        return f"{self.quote}{text.replace(self.quote, self.quote * 2)}{self.quote}"

    def _needs_quotes(self, text: str) -> bool:
        if len(text) > ALWAYS_QUOTED_ABOVE:
            return True
        special = max(self.delimiter, self.quote or "", self.escape or "", "\r")
        return bool(text) and min(text) <= special


class CsvRecords:
    """The records of lines, each a list of its fields' texts; a field may span lines."""

    def __init__(self, lines: Iterable[str], dialect: CsvDialect):
        self._at_record_start = True
        self.last_line = ""
        self._reader = csv.reader(
            self._kept(lines, dialect.comments),
            delimiter=dialect.delimiter,
            quotechar=dialect.quote,
            quoting=csv.QUOTE_NONE if dialect.quote is None else csv.QUOTE_MINIMAL,
            escapechar=dialect.escape,
            strict=True,
        )
        self.line_number = 0

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        self._at_record_start = True
        return next(self._reader)

    def _kept(self, lines: Iterable[str], comments: bool) -> Iterator[str]:
        """The lines without comments, noting where we are for the sake of errors."""
        for number, line in enumerate(lines, 1):
            # Inside quotes a line that begins with # is data.
            if comments and self._at_record_start and line.lstrip().startswith("#"):
                continue
            self._at_record_start = False
            self.line_number = number
            self.last_line = line
            yield line
