"""How a file's content becomes records."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.source import SourceSpec, TextFilesSpec
from headrace.core.types import TypeInformation, Types

__all__ = ["BulkFormat", "StreamFormat"]


class StreamFormat:
    """A format read record by record."""

    def spec(self, paths: Sequence[str], watch: bool) -> SourceSpec:
        """How the engine reads files of this format."""
        raise NotImplementedError

    def produced_type(self) -> TypeInformation | None:
        """The type of the records."""
        return None

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        return TextLines(charset_name)


class TextLines(StreamFormat):
    """Each line is a record, without its end."""

    def __init__(self, charset_name: str = "UTF-8"):
        self.charset = charset_name

    def spec(self, paths: Sequence[str], watch: bool) -> SourceSpec:
        return TextFilesSpec(tuple(paths), watch, None, self.charset)

    def produced_type(self) -> TypeInformation:
        return Types.STRING()


class BulkFormat:
    """A format read in batches, as Parquet and ORC are."""
