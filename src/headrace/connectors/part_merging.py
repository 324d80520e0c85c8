"""Making one finished part of several segments, so that a crash neither loses nor repeats any.

    1  .<part>.merging   the content of all segments, on disk
    2  .<part>.merged    the names of the segments: from here on the file of step 1 stands for them
    3  the segments are deleted
    4  .<part>.merging becomes <part>
    5  .<part>.merged is deleted

A crash before step 2 leaves a file that nobody needs, one after it leaves the list of what is to
be done. The finished part may be taken away by whoever reads it as soon as it is there, so nothing
is ever concluded from its absence.

The steps are generators: a test stops between two of them as a crash would.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from headrace.connectors.durable import UNFINISHED, sync_folders, write_whole
from headrace.connectors.part_names import Segment

__all__ = ["Merge", "finish", "resume"]

Merge = Callable[[list[Path], BinaryIO], None]
"""Writes the content of several files as one."""

_MERGING = ".merging"
_MERGED = ".merged"


def finish(segments: Sequence[Segment], merge: Merge) -> Iterator[str]:
    """Make one part of pending segments, in their order."""
    part = segments[0].finished
    if len(segments) == 1:
        segments[0].pending.replace(part)
        yield "renamed"
        sync_folders([part.parent])
        return
    content = part.with_name(f".{part.name}{_MERGING}")
    with content.open("wb") as file:
        yield "began to write"
        merge([segment.pending for segment in segments], file)
        file.flush()
        os.fsync(file.fileno())
    yield "written"
    names = [segment.pending.name for segment in segments]
    write_whole(part.with_name(f".{part.name}{_MERGED}"), json.dumps(names).encode())
    yield "decided"
    yield from _complete(part, names)


def _complete(part: Path, names: list[str]) -> Iterator[str]:
    for name in names:
        part.with_name(name).unlink(missing_ok=True)
        yield f"deleted {name}"
    # On disk first: a segment must not come back once the note of it is gone.
    sync_folders([part.parent])
    content = part.with_name(f".{part.name}{_MERGING}")
    if content.exists():
        content.replace(part)
        yield "renamed"
        sync_folders([part.parent])
    part.with_name(f".{part.name}{_MERGED}").unlink(missing_ok=True)
    yield "done"


def resume(hidden: Sequence[Path]) -> Iterator[str]:
    """Complete or drop what a crash left in a folder, given the owner's hidden files."""
    for note in hidden:
        if note.name.endswith(_MERGED):
            part = note.with_name(note.name[1 : -len(_MERGED)])
            yield from _complete(part, json.loads(note.read_bytes()))
    for path in hidden:
        if path.name.endswith((_MERGING, UNFINISHED)) and path.exists():
            path.unlink()
            yield f"dropped {path.name}"
