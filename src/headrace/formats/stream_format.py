"""How a file's content becomes records."""

from __future__ import annotations

import codecs
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any, BinaryIO

from headrace.core.types import TypeInformation, Types
from headrace.errors import InvalidArgument, Unsupported
from headrace.origin import calling_origin

__all__ = ["BinaryFormat", "BulkFormat", "FileFormat", "LineFormat", "LinesOfFile", "StreamFormat"]

READ_AT_ONCE = 2048


class StreamFormat:
    """A format read record by record: one of lines, or one that needs a file from its start."""

    charset = "UTF-8"

    def produced_type(self) -> TypeInformation | None:
        """The type of the records."""
        return None

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Each line is a record, without its end."""
        return TextLines(charset_name)

    @staticmethod
    def json_lines_format(
        type_info: TypeInformation | None = None, ignore_parse_errors: bool = False
    ) -> StreamFormat:
        """Each line is a JSON value: a row of the given type, or whatever Python makes of it."""
        from headrace.formats.json_lines import JsonLinesFormat  # it builds on this module

        return JsonLinesFormat(type_info, ignore_parse_errors)


class LineFormat(StreamFormat):
    """Each record is a line, so that a file can be read from any line on."""

    def decode(self, lines: list[str]) -> list[Any]:
        """The records of some lines."""
        return lines


class FileFormat(StreamFormat):
    """Records may span lines, or the start of a file matters."""

    malformed = "strict"
    """What to do with bytes that are not of the character set, as Python's `open` names it."""

    @abstractmethod
    def read(self, file: IO[str], path: str) -> Iterable[Any]:
        """The records of a file."""


class LinesOfFile(FileFormat):
    """A line format for files whose character set Spark cannot read."""

    def __init__(self, lines: LineFormat):
        self._lines = lines
        self.charset = lines.charset
        self.malformed = "replace"

    def produced_type(self) -> TypeInformation | None:
        return self._lines.produced_type()

    def read(self, file: IO[str], path: str) -> Iterator[Any]:
        while part := list(islice(file, READ_AT_ONCE)):
            yield from self._lines.decode([line.rstrip("\r\n") for line in part])


class TextLines(LineFormat):
    """Lines as they are."""

    def __init__(self, charset_name: str = "UTF-8"):
        try:
            codecs.lookup(charset_name)
        except LookupError:
            raise InvalidArgument(
                f"unknown character set {charset_name!r}",
                origin=calling_origin(),
                hint="UTF-8 is the usual one.",
            ) from None
        self.charset = charset_name

    def produced_type(self) -> TypeInformation:
        return Types.STRING()


class BinaryFormat:
    """A format that reads the bytes of a whole file."""

    def read(self, file: BinaryIO, path: str) -> Iterable[Any]:
        """The records of a file."""
        raise Unsupported(
            f"{type(self).__name__} does not read files",
            hint="A format of your own overrides read(file, path).",
        )

    def produced_type(self) -> TypeInformation | None:
        """The type of the records."""
        return None


class BulkFormat(BinaryFormat):
    """A format read in batches, as Parquet and Avro are; subclass it for one of your own."""
