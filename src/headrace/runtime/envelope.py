"""What travels between levels: one blob per receiving slot, holding many records.

A blob is a pickle of plain lists, written and read only by this job's own tasks.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.core.operator import Batch
from headrace.runtime.event_time import Watermarks
from headrace.runtime.pickling import dumps

Item = tuple[int, int, Any]

MARK = -1
"""In place of a vertex: not records, but watermarks that come between them."""


@dataclass(slots=True)
class Envelope:
    """The contents of a blob."""

    records: list[Item] = field(default_factory=list)
    """(vertex, side, batch), or (MARK, 0, watermarks)."""
    watermarks: Watermarks = field(default_factory=dict)
    driver: list[tuple[int, int, str, Any]] = field(default_factory=list)
    """(vertex, subtask, kind, payload), on the way to the driver."""
    final: bool = False
    """No record will come any more, from any source."""

    def encode(self) -> bytes:
        items = [(target, side, content, None, None) if target == MARK
                 else (target, side, content.values, content.timestamps, content.keys)
                 for target, side, content in self.records]  # fmt: skip
        return dumps((items, self.watermarks, self.driver, self.final))

    @staticmethod
    def decode(blob: bytes) -> Envelope:
        items, watermarks, driver, final = pickle.loads(blob)
        return Envelope(
            [(target, side, content if target == MARK else Batch(content, stamps, keys))
             for target, side, content, stamps, keys in items],
            watermarks, driver, final,
        )  # fmt: skip

    def marks(self) -> Iterator[Watermarks]:
        """All watermarks in it."""
        yield from (content for target, _, content in self.records if target == MARK)
        yield self.watermarks
