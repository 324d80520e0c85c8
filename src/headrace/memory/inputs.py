"""Reading a bounded source in this process, one micro-batch at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from headrace.core.checkpointed import source_part
from headrace.core.operator import Batch
from headrace.core.source import CollectionSpec, SplitSpec, TextFilesSpec
from headrace.errors import SourceUnavailable, Unsupported
from headrace.plan.physical import Vertex
from headrace.runtime.source_task import decoder, encode_collection, encode_ranges


def micro_batches(vertex: Vertex, sizes: Sequence[int] = ()) -> Iterator[list[Batch]]:
    """What a source gives in each micro-batch.

    A collection or a file is cut after `sizes` records, the last cut holds the rest; a source with
    splits is asked before each micro-batch how far it can be read.
    """
    spec = vertex.source
    if spec is None or not spec.bounded:
        raise Unsupported(
            f"{vertex.name!r} never ends, so it cannot be read to its end in this process",
            origin=vertex.origin,
            hint="Put a bounded source in its place, for instance a ScriptedSource.",
        )
    match spec:
        case SplitSpec():
            return _split_batches(spec)
        case CollectionSpec():
            rows: list[Any] = list(encode_collection(spec.values))
        case TextFilesSpec():
            rows = [line for path in spec.paths for line in _lines(vertex, path, spec.charset)]
        case _:
            raise Unsupported(
                f"{vertex.name!r} cannot be read in this process", origin=vertex.origin,
                hint="Put a collection or a ScriptedSource in its place.",
            )  # fmt: skip
    return _cut(chain.from_iterable(map(_records, decoder(spec)(rows))), sizes)


def _records(batch: Batch) -> Iterator[tuple[Any, int | None]]:
    stamps = repeat(None) if batch.timestamps is None else batch.timestamps
    return zip(batch.values, stamps, strict=False)


def _cut(records: Iterator[tuple[Any, int | None]], sizes: Sequence[int]) -> Iterator[list[Batch]]:
    for size in sizes:
        yield _batches(list(islice(records, size)))
    yield _batches(list(records))


def _batches(records: list[tuple[Any, int | None]]) -> list[Batch]:
    if not records:
        return []
    timed = any(stamp is not None for _, stamp in records)
    stamps = [stamp for _, stamp in records] if timed else None
    return [Batch([value for value, _ in records], stamps)]


def _split_batches(spec: SplitSpec) -> Iterator[list[Batch]]:
    enumerator = source_part(spec.source.create_enumerator())
    read = decoder(spec)
    positions: dict[str, Any] = {}
    try:
        while True:
            ranges = []
            for split in enumerator.splits():
                start = positions.get(split.id, enumerator.initial_position(split))
                # Through JSON, as positions are kept in a checkpoint.
                end = json.loads(json.dumps(enumerator.latest_position(split, start)))
                if end != start or split.id not in positions:
                    ranges.append(
                        encode_ranges(
                            [(split, start, end, enumerator.latest_position(split, end) == end)]
                        )
                    )
                positions[split.id] = end
                if enumerator.latest_position(split, end) == end:
                    enumerator.split_ended(split.id)
            if not ranges:
                return
            yield list(read(ranges))
    finally:
        enumerator.close()


def _lines(vertex: Vertex, path: str, charset: str) -> list[str]:
    place = Path(path.removeprefix("file://"))
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    try:
        return [line for file in files for line in file.read_text(charset).splitlines()]
    except OSError as error:
        raise SourceUnavailable(
            f"{vertex.name!r}: {path} cannot be read: {error.strerror}", origin=vertex.origin,
            hint="Check the path; a relative one starts at the folder you run in.",
        ) from None  # fmt: skip
