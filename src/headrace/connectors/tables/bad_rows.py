"""What becomes of rows that cannot be read: counted, and kept where that was asked for."""

from __future__ import annotations

import json
from typing import Any

from headrace.connectors.file_sink import FileSink
from headrace.connectors.output_files import (
    BucketAssigner,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
)
from headrace.connectors.tables.file_paths import local_file
from headrace.core.accumulators import LongCounter
from headrace.core.operator import Batch, Context, Operator
from headrace.core.serialization import SerializationSchema
from headrace.errors import Unsupported
from headrace.operators.sinks import WriteOperator

_EXTRA = 3
"""How many columns a checked row has after its own: the reason, the line and the file."""


class GoodRows(Operator):
    """Lets rows pass that could be read, and counts the others.

    The count is an accumulator of the job (`bad rows of <table>`) and a metric (`numBadRows`).
    """

    def __init__(self, table: str, outcome: str):
        self._label = f"bad rows of {table} ({outcome})"

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._count = LongCounter()
        ctx.accumulators[self._label] = self._count
        self._metric = ctx.metrics.counter("numBadRows")

    def receive(self, side: int, batch: Batch) -> None:
        good = [row[:-_EXTRA] for row in batch.values if row[-_EXTRA] is None]
        bad = len(batch.values) - len(good)
        if bad:
            self._count.add(bad)
            self._metric.inc(bad)
        if good:
            self.ctx.emit(good, None)


class DeadLetters(WriteOperator):
    """Writes the rows that could not be read: a JSON object on each line."""

    def __init__(self, table: str, folder: str):
        local = local_file(folder)
        if local is None:
            raise Unsupported(
                f"'bad-rows.path' = '{folder}' is not a local folder",
                hint="Give a folder that all workers see.",
            )
        local.mkdir(parents=True, exist_ok=True)
        sink = (
            FileSink.for_row_format(str(local), _Letter(table))
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .with_output_file_config(OutputFileConfig("bad-rows", ".json"))
            .with_rolling_policy(OnCheckpointRollingPolicy())
            .build()
        )
        super().__init__(sink)

    def receive(self, side: int, batch: Batch) -> None:
        bad = [row[-_EXTRA:] for row in batch.values if row[-_EXTRA] is not None]
        if bad:
            super().receive(side, Batch(bad))


class _Letter(SerializationSchema):
    def __init__(self, table: str):
        self._table = table

    def serialize(self, value: Any) -> bytes:
        reason, line, file = value
        letter = {"table": self._table, "file": file, "reason": reason, "line": line}
        return json.dumps(letter, ensure_ascii=False).encode()
