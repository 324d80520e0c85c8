"""Sources as tasks that flow read them: all of them by splits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headrace.core.source import SocketTextSpec, SourceSpec, SplitSpec, TextFilesSpec
from headrace.errors import SourceUnavailable
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.line_ranges import WatchedLines
from headrace.runtime.socket_lines import SocketLines

_TO_READ = "Check the path; a relative one starts at the folder you run in."
_TO_WATCH = "Create it before the job starts; files put there later are read as they come."


def with_splits(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with connections and watched folders as sources with splits."""
    vertices = {id: replace(vertex, source=_in_splits(vertex)) if vertex.source else vertex
                for id, vertex in plan.vertices.items()}  # fmt: skip
    return replace(plan, vertices=vertices)


def _in_splits(vertex: Vertex) -> SourceSpec | None:
    match vertex.source:
        case SocketTextSpec(host=host, port=port):
            return SplitSpec(SocketLines(host, port))
        case TextFilesSpec(paths=[path], watch=True, decode=decode) if _is_local(path):
            _require(vertex, path, _TO_WATCH)
            return SplitSpec(WatchedLines(path, decode))
        case TextFilesSpec(paths=paths, watch=False) as files:
            for path in filter(_is_local, paths):
                _require(vertex, path, _TO_READ)
            return files
        case other:
            return other


def _is_local(path: str) -> bool:
    return "://" not in path.removeprefix("file://")


def _require(vertex: Vertex, path: str, hint: str) -> None:
    if not Path(path.removeprefix("file://")).exists():
        raise SourceUnavailable(
            f"{vertex.name!r}: there is no file or folder {path}", origin=vertex.origin,
            hint=hint,
        )  # fmt: skip
