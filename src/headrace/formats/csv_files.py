"""CSV files as a source's format."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from typing import IO, Any

from headrace.core.rows import Row
from headrace.core.types import TypeInformation
from headrace.errors import TypeMismatch
from headrace.formats.bad_lines import bad_line
from headrace.formats.csv_columns import CsvColumns
from headrace.formats.csv_dialect import CsvRecords
from headrace.formats.csv_schema import CsvSchema
from headrace.formats.stream_format import FileFormat
from headrace.origin import calling_origin

__all__ = ["CsvReaderFormat"]

READ_AT_ONCE = 2048


class CsvReaderFormat(FileFormat):
    """Reads CSV files as rows with the schema's names and types."""

    def __init__(self, schema: CsvSchema, ignore_parse_errors: bool = False):
        if not isinstance(schema, CsvSchema):
            raise TypeMismatch(
                f"CsvReaderFormat reads with a CsvSchema, not {schema!r}",
                origin=calling_origin(),
                hint="CsvSchema.builder().add_string_column('name').build()",
            )
        self.schema = schema
        self.ignore_parse_errors = ignore_parse_errors
        self._new_columns()  # a type that has no text fails here

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        return CsvReaderFormat(schema)

    def with_ignore_parse_errors(self) -> CsvReaderFormat:
        """The same format, which leaves out lines that cannot be read."""
        return CsvReaderFormat(self.schema, ignore_parse_errors=True)

    def produced_type(self) -> TypeInformation:
        return self.schema.row_type()

    def read(self, file: IO[str], path: str) -> Iterator[Row]:
        records = CsvRecords(file, self.schema.dialect)
        columns = self._new_columns()
        self._skip_head(records, path)
        numbered = self._numbered(records, path)
        while part := list(islice(numbered, READ_AT_ONCE)):
            rows = columns.rows([fields for _, fields in part])
            yield from rows if rows is not None else self._one_by_one(part, columns, path)

    def _new_columns(self) -> CsvColumns:
        schema = self.schema
        return CsvColumns(schema.row_type(), schema.dialect, dict(schema.array_delimiters))

    def _skip_head(self, records: CsvRecords, path: str) -> None:
        if self.schema.use_header:
            header = next(records, None)
            expected = [name for name, _ in self.schema.columns]
            if self.schema.strict_headers and header is not None and header != expected:
                raise TypeMismatch(
                    f"the header of {path} is {', '.join(header)}, "
                    f"but the schema's columns are {', '.join(expected)}",
                    hint="Correct the schema, or leave set_strict_headers() out.",
                )
        if self.schema.skip_first_data_row:
            next(records, None)

    def _numbered(self, records: CsvRecords, path: str) -> Iterator[tuple[int, list[str]]]:
        """Records with the number of their last line; a blank line is none."""
        one_column = self.schema.size() == 1
        while True:
            try:
                fields = next(records, None)
            except csv.Error as error:
                if self.ignore_parse_errors:
                    continue
                where = f"line {records.line_number} of {path}"
                raise bad_line("CSV", records.last_line, str(error), where) from None
            if fields is None:
                return
            if fields or one_column:
                yield records.line_number, fields or [""]

    def _one_by_one(
        self, part: list[tuple[int, list[str]]], columns: CsvColumns, path: str
    ) -> Iterator[Any]:
        for line, fields in part:
            content = self.schema.dialect.delimiter.join(fields)
            try:
                yield columns.row(fields, content, f"line {line} of {path}")
            except TypeMismatch:
                if not self.ignore_parse_errors:
                    raise
