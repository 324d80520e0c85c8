"""What travels between levels: one blob per receiving slot, holding many records.

A blob is a pickle of lists, written and read only by this job's own tasks.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.core.operator import Batch
from headrace.runtime.event_time import Watermarks
from headrace.runtime.pickling import dumps
from headrace.runtime.plain_records import are_atoms, dumps_plain, parts_at, place_of

Item = tuple[int, int, Any]

_STAMPS = "q"
"""64 bits each, in the byte order of the machine, which all machines of a job share."""
MARK = -1
"""In place of a vertex: not records, but watermarks that come between them."""


@dataclass(slots=True)
class Envelope:
    """The contents of a blob."""

    records: list[Item] = field(default_factory=list)
    """(vertex, side, batch), or (MARK, 0, watermarks)."""
    driver: list[tuple[int, int, str, Any]] = field(default_factory=list)
    """(vertex, subtask, kind, payload), on the way to the driver."""

    def encode(self) -> bytes:
        items = [(target, side, content, None, None) if target == MARK
                 else (target, side, content.values, _stamps_sent(content), _keys_sent(content))
                 for target, side, content in self.records]  # fmt: skip
        contents = (items, self.driver)
        plain = dumps_plain(contents, self._batches()) if self._is_plain(items) else None
        return dumps(contents) if plain is None else plain

    def _is_plain(self, items: list[tuple[Any, ...]]) -> bool:
        return not self.driver and all(
            target == MARK or (content.plain and (not isinstance(keys, list) or are_atoms(keys)))
            for (target, _, content), (*_, keys) in zip(self.records, items, strict=True)
        )

    def _batches(self) -> list[Batch]:
        return [content for target, _, content in self.records if target != MARK]

    @staticmethod
    def decode(blob: bytes) -> Envelope:
        items, driver = pickle.loads(blob)
        return Envelope(
            [(target, side, content if target == MARK else _received(content, stamps, keys))
             for target, side, content, stamps, keys in items],
            driver,
        )  # fmt: skip

    def marks(self) -> Iterator[Watermarks]:
        """All watermarks in it."""
        yield from (content for target, _, content in self.records if target == MARK)


def _keys_sent(batch: Batch) -> list[Any] | int | None:
    """The keys, or the number of the field that holds them."""
    place = place_of(batch.keys, batch)
    return batch.keys if place is None else place


def _stamps_sent(batch: Batch) -> list[int | None] | bytes | int | None:
    """The timestamps, or the number of the field that holds them."""
    stamps = batch.timestamps
    place = place_of(stamps, batch)
    if place is not None or stamps is None:
        return place
    try:
        return array(_STAMPS, stamps).tobytes()  # type: ignore[type-var]
    except (TypeError, OverflowError):  # some have none
        return stamps


def _received(values: list[Any], stamps: Any, keys: Any) -> Batch:
    if stamps.__class__ is bytes:
        stamps = array(_STAMPS, stamps).tolist()
    elif stamps.__class__ is int:
        stamps = parts_at(stamps, values)
    return Batch(values, stamps, parts_at(keys, values) if keys.__class__ is int else keys)
