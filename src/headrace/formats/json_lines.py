"""Files with a JSON value on each line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.core.types import TypeInformation
from headrace.formats.bad_lines import bad_line
from headrace.formats.json_values import JsonReading, parse_json, value_reader
from headrace.formats.stream_format import LineFormat

__all__ = ["JsonLinesFormat"]


class JsonLinesFormat(LineFormat):
    """Each line is a JSON value; blank lines and nulls are no records."""

    def __init__(self, type_info: TypeInformation | None, ignore_parse_errors: bool):
        self._type_info = type_info
        self._ignore_parse_errors = ignore_parse_errors
        if type_info is not None:
            value_reader(type_info, JsonReading())  # a type that JSON cannot hold fails here

    def produced_type(self) -> TypeInformation | None:
        return self._type_info

    def decode(self, lines: list[str]) -> list[Any]:
        read = self._line_reader()
        records = []
        for line in lines:
            if not line.strip():
                continue
            try:
                record = read(line)
            except ValueError as error:
                if self._ignore_parse_errors:
                    continue
                raise bad_line("JSON", line, str(error)) from None
            if record is not None:
                records.append(record)
        return records

    def _line_reader(self) -> Callable[[str], Any]:
        if self._type_info is None:
            return partial(parse_json, exact=False)
        typed = value_reader(self._type_info, JsonReading())
        return lambda line: typed(parse_json(line))
