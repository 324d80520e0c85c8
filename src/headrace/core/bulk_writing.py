"""Writing whole files in a format of their own."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from headrace.core.types import RowTypeInfo, TypeInformation

__all__ = ["BulkWriter", "BulkWriterFactory", "RowDataBulkWriterFactory", "concatenate"]

T = TypeVar("T")
COPY_BYTES = 1 << 20


class BulkWriter(ABC, Generic[T]):
    """Writes the records of one file."""

    written = 0
    """How many bytes were written; counted by formats of lines, whose files may roll by size."""

    @abstractmethod
    def add_element(self, element: T) -> None:
        """Write a record, or keep it to be written with others."""

    def flush(self) -> None:
        """Write what was kept so far."""

    @abstractmethod
    def finish(self) -> None:
        """Write all that is missing to make the file complete; its stream is closed by others."""

    def abandon(self) -> None:
        """The file is of no use any more: write nothing, release what the writer holds."""


class BulkWriterFactory(ABC, Generic[T]):
    """Makes the writer of each file; subclass it for a format of your own."""

    @abstractmethod
    def create(self, out: BinaryIO) -> BulkWriter[T]:
        """The writer of a new file."""

    def with_type(self, type_info: TypeInformation | None) -> BulkWriterFactory[T]:
        """The factory for a stream of that type; most formats have their own."""
        return self

    concatenable = True
    """Whether the bytes of two files one after the other are a file of the format."""

    def merge(self, inputs: list[Path], out: BinaryIO) -> None:
        """Write the records of several files of this format as one file."""
        concatenate(inputs, out)


class RowDataBulkWriterFactory(BulkWriterFactory[Any]):
    """A factory for rows of a type that it knows."""

    def __init__(self, row_type: RowTypeInfo):
        self._row_type = row_type

    def get_row_type(self) -> RowTypeInfo:
        return self._row_type


def concatenate(inputs: list[Path], out: BinaryIO, between: bytes = b"", skip: int = 0) -> None:
    """The bytes of all files, each without its first `skip` ones, one after the other."""
    for number, path in enumerate(inputs):
        if number and between:
            out.write(between)
        with path.open("rb") as file:
            file.seek(skip)
            shutil.copyfileobj(file, out, COPY_BYTES)
