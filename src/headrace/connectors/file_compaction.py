"""Making few large files of many small ones before they become visible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from headrace.connectors.argument_checks import require_positive, require_whole
from headrace.core.bulk_writing import BulkWriterFactory, concatenate
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = ["FileCompactStrategy", "FileCompactor"]


@dataclass(frozen=True, slots=True)
class FileCompactStrategy:
    """When the files of a bucket are compacted; -1 where that is no reason."""

    size_threshold: int = -1
    """How many bytes they have together."""
    num_checkpoints_before_compaction: int = -1
    """How many checkpoints have passed."""
    num_compact_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        return FileCompactStrategy.Builder()

    class Builder:
        """Settings of a FileCompactStrategy."""

        def __init__(self) -> None:
            self._strategy = FileCompactStrategy()

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Compact when so many checkpoints have passed since the last time."""
            number = require_positive(
                num_checkpoints_before_compaction, "num_checkpoints_before_compaction"
            )
            return self._change(num_checkpoints_before_compaction=number)

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compact when the files of a bucket have so many bytes together."""
            return self._change(size_threshold=require_whole(size_threshold, "size_threshold"))

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """How many buckets are compacted at a time."""
            number = require_positive(num_compact_threads, "num_compact_threads")
            return self._change(num_compact_threads=number)

        def build(self) -> FileCompactStrategy:
            made = self._strategy
            if made.size_threshold < 0 and made.num_checkpoints_before_compaction < 0:
                raise InvalidArgument(
                    "a compaction strategy needs a reason to compact", origin=calling_origin(),
                    hint="Call set_size_threshold(bytes) or enable_compaction_on_checkpoint(n).",
                )  # fmt: skip
            return made

        def _change(self, **settings: int) -> FileCompactStrategy.Builder:
            self._strategy = replace(self._strategy, **settings)
            return self


class FileCompactor:
    """Writes several files as one; subclass it and override `compact` for a way of your own."""

    one_by_one = False
    """Whether every file becomes a file of its own."""

    def compact(self, inputs: list[Path], out: BinaryIO) -> None:
        """Write the content of the files, in their order."""
        raise TypeMismatch(
            f"{type(self).__name__} does not override compact(inputs, out)",
            hint="Or use FileCompactor.concat_file_compactor().",
        )

    def for_format(self, factory: BulkWriterFactory[object]) -> FileCompactor:
        """The compactor for files that the factory's writers wrote."""
        return self

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """The bytes of the files one after the other, the delimiter in between."""
        return _Concatenation(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Every file as it is."""
        return _Identity()

    @staticmethod
    def record_wise_file_compactor() -> FileCompactor:
        """The records of the files, written as the sink's format does it: for Parquet and ORC."""
        return _ByFormat()


class _Concatenation(FileCompactor):
    def __init__(self, between: bytes):
        self._between = between

    def compact(self, inputs: list[Path], out: BinaryIO) -> None:
        concatenate(inputs, out, self._between)

    def for_format(self, factory: BulkWriterFactory[object]) -> FileCompactor:
        if not factory.concatenable:
            raise InvalidArgument(
                f"files of {type(factory).__name__} cannot be put one after the other",
                origin=calling_origin(),
                hint="Use FileCompactor.record_wise_file_compactor().",
            )
        return self


class _Identity(FileCompactor):
    one_by_one = True

    def compact(self, inputs: list[Path], out: BinaryIO) -> None:
        concatenate(inputs, out)


class _ByFormat(FileCompactor):
    def __init__(self, factory: BulkWriterFactory[object] | None = None):
        self._factory = factory

    def compact(self, inputs: list[Path], out: BinaryIO) -> None:
        assert self._factory is not None, "a compactor is used with a format"
        self._factory.merge(inputs, out)

    def for_format(self, factory: BulkWriterFactory[object]) -> FileCompactor:
        return _ByFormat(factory)
