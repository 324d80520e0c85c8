"""Sources as tasks that flow read them: all of them by splits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from headrace.core.source import (
    Boundedness,
    CollectionSpec,
    SocketTextSpec,
    Source,
    SourceSpec,
    Split,
    SplitEnumerator,
    SplitReader,
    SplitSpec,
    TextFilesSpec,
)
from headrace.errors import SourceUnavailable, Unsupported
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.line_ranges import WatchedLines
from headrace.runtime.socket_lines import SocketLines

_TO_READ = "Check the path; a relative one starts at the folder you run in."
_TO_WATCH = "Create it before the job starts; files put there later are read as they come."


def with_splits(plan: PhysicalPlan, files_per_batch: int | None = None) -> PhysicalPlan:
    """The plan with collections, connections and files as sources with splits, where tasks can read
    them; `files_per_batch`: how many new files a micro-batch takes at most."""
    vertices = {
        id: replace(vertex, source=_in_splits(vertex, files_per_batch))
        for id, vertex in plan.vertices.items()
    }
    return replace(plan, vertices=vertices)


def _in_splits(vertex: Vertex, files_per_batch: int | None) -> SourceSpec | None:
    match vertex.source:
        case CollectionSpec(values=values):
            return SplitSpec(CollectionSource(values))
        case SocketTextSpec(host=host, port=port):
            return SplitSpec(SocketLines(host, port))
        case TextFilesSpec(paths=[path], watch=True, decode=decode) if _is_watched_here(path):
            _require(vertex, path, _TO_WATCH)
            return SplitSpec(WatchedLines(path, decode, files_per_batch))
        case TextFilesSpec(watch=True, paths=paths) if len(paths) != 1:
            raise Unsupported(
                "a stream of files reads one folder",
                origin=vertex.origin,
                hint="Make one source for each folder and unite them.",
            )
        case TextFilesSpec(paths=paths, watch=False) as files:
            for path in filter(_is_local, paths):
                _require(vertex, path, _TO_READ)
            return files
        case other:
            return other


def _is_local(path: str) -> bool:
    return "://" not in path.removeprefix("file://")


def _is_watched_here(path: str) -> bool:
    """Whether tasks can read what comes there: patterns are Spark's."""
    return _is_local(path) and not any(mark in path for mark in "*?[{")


def _require(vertex: Vertex, path: str, hint: str) -> None:
    if not Path(path.removeprefix("file://")).exists():
        raise SourceUnavailable(
            f"{vertex.name!r}: there is no file or folder {path}", origin=vertex.origin,
            hint=hint,
        )  # fmt: skip


class CollectionSource(Source[Any]):
    """Values of the program, read once; a position is an index."""

    def __init__(self, values: tuple[Any, ...]):
        self._values = values

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _OneSplit(len(self._values))

    def create_reader(self) -> SplitReader[Any]:
        return _Slices(self._values)


class _OneSplit(SplitEnumerator):
    positions_count_records = True

    def __init__(self, size: int):
        self._size = size

    def splits(self) -> list[Split]:
        return [Split("all")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return self._size


class _Slices(SplitReader[Any]):
    def __init__(self, values: tuple[Any, ...]):
        self._values = values

    def read(self, split: Split, start: Any, end: Any) -> Iterator[Any]:
        return iter(self._values[start:end])
