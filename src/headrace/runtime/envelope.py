"""What travels between levels: one blob per receiving slot, holding many records.

A blob is a pickle of plain lists, written and read only by this job's own tasks.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

from headrace.core.operator import Batch
from headrace.runtime.pickling import dumps

Watermarks = dict[int, dict[str, int]]
"""For each origin (a source or assigner) the watermark of each of its splits."""

ANY_SPLIT = ""
"""The split of a source whose parts are read within one micro-batch and then gone."""


@dataclass(slots=True)
class Envelope:
    """The contents of a blob."""

    records: list[tuple[int, int, Batch]] = field(default_factory=list)
    """(vertex, side, batch)."""
    watermarks: Watermarks = field(default_factory=dict)
    driver: list[tuple[int, int, str, Any]] = field(default_factory=list)
    """(vertex, subtask, kind, payload), on the way to the driver."""
    final: bool = False
    """No record will come any more, from any source."""

    def encode(self) -> bytes:
        records = [(vertex, side, batch.values, batch.timestamps, batch.keys)
                   for vertex, side, batch in self.records]  # fmt: skip
        return dumps((records, self.watermarks, self.driver, self.final))

    @staticmethod
    def decode(blob: bytes) -> Envelope:
        records, watermarks, driver, final = pickle.loads(blob)
        return Envelope(
            [(vertex, side, Batch(values, stamps, keys))
             for vertex, side, values, stamps, keys in records],
            watermarks, driver, final,
        )  # fmt: skip


def merge_watermarks(into: Watermarks, news: Watermarks) -> None:
    """Take in newer watermarks; one never goes back."""
    for origin, splits in news.items():
        known = into.setdefault(origin, {})
        for split, watermark in splits.items():
            if watermark > known.get(split, watermark - 1):
                known[split] = watermark
