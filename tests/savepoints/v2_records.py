"""What the job of the savepoint in `v2/` reads: records of four tables, step by step."""

from __future__ import annotations

from typing import Any

from headrace.common import Row, RowKind, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.table import Schema, StreamTableEnvironment
from headrace.table.changelog_mode import ChangelogMode

Record = tuple[str, str, str, int, int, int]
"""Its table, what happens to the row, and the row: key, number, value, time."""

STEPS: list[list[Record]] = [
    [
        ("orders", "+I", "a", 1, 10, 1000), ("orders", "+I", "b", 2, 20, 2000),
        ("payments", "+I", "a", 1, 5, 1500), ("prices", "+I", "a", 0, 100, 500),
        ("prices", "+I", "b", 0, 200, 600), ("accounts", "+I", "a", 1, 10, 1000),
        ("accounts", "+I", "b", 2, 20, 1000), ("orders", "+I", "a", 2, 7, 2500),
    ],
    [
        ("orders", "+I", "a", 3, 30, 4000), ("orders", "+I", "c", 4, 40, 5000),
        ("payments", "+I", "b", 2, 6, 4500), ("prices", "+U", "a", 0, 110, 4200),
        ("accounts", "-U", "a", 1, 10, 5000), ("accounts", "+U", "a", 1, 15, 5000),
        ("accounts", "+I", "c", 3, 30, 5000),
    ],
    [
        ("orders", "+I", "b", 5, 50, 11_000), ("orders", "+I", "a", 6, 20, 12_000),
        ("payments", "+I", "c", 3, 7, 11_500), ("prices", "+I", "c", 0, 300, 11_800),
        ("accounts", "-D", "b", 2, 20, 12_000), ("accounts", "+I", "d", 4, 30, 12_000),
        ("payments", "+I", "a", 4, 6, 11_900),
    ],
]  # fmt: skip
"""What was processed before the savepoint was taken, one list for each micro-batch."""

AFTERWARDS: list[list[Record]] = [
    [
        ("orders", "+I", "a", 7, 70, 13_000), ("orders", "+I", "c", 8, 20, 13_500),
        ("payments", "+I", "a", 5, 8, 13_200), ("prices", "+U", "b", 0, 210, 13_100),
        ("accounts", "+I", "b", 5, 50, 13_400), ("accounts", "-U", "c", 3, 30, 13_400),
        ("accounts", "+U", "c", 3, 35, 13_400), ("payments", "+I", "b", 6, 5, 13_300),
    ],
    [
        ("orders", "+I", "b", 9, 10, 21_000), ("payments", "+I", "b", 7, 9, 21_500),
        ("accounts", "-D", "a", 1, 15, 21_200), ("prices", "-D", "c", 0, 300, 21_300),
        ("orders", "+I", "a", 11, 90, 21_400),
    ],
    [
        ("orders", "+I", "d", 10, 5, 60_000), ("payments", "+I", "d", 8, 1, 60_100),
        ("accounts", "+I", "e", 1, 1, 60_200), ("prices", "+I", "d", 0, 1, 59_000),
        ("orders", "+I", "a", 12, 1, 60_300),
    ],
]  # fmt: skip
"""What a resumed job is given."""


class Steps(Source[Any]):
    """A step for each micro-batch: those before the savepoint for ever, or all to the end."""

    def __init__(self, *, ends: bool):
        self._ends = ends

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._ends else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _OneByOne(len(STEPS) + len(AFTERWARDS) * self._ends)

    def create_reader(self) -> SplitReader[Any]:
        return _Reader()


class _OneByOne(SplitEnumerator):
    def __init__(self, size: int):
        self._size = size

    def splits(self) -> list[Split]:
        return [Split("steps")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return min(start + 1, self._size)


class _Reader(SplitReader[Any]):
    def read(self, split: Split, start: Any, end: Any) -> list[Any]:
        return [record for step in [*STEPS, *AFTERWARDS][start:end] for record in step]


class RecordTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[5])


class RowOf:
    """The row of a record, with its kind."""

    def __call__(self, record: Record) -> Row:
        row = Row(*record[2:])
        row.set_row_kind(_KINDS[record[1]])
        return row


class Of:
    """Whether a record is of a table."""

    def __init__(self, table: str):
        self.table = table

    def __call__(self, record: Record) -> bool:
        return record[0] == self.table


_KINDS = {
    "+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER,
    "-D": RowKind.DELETE,
}  # fmt: skip
_ROW = Types.ROW_NAMED(
    ["k", "n", "v", "t"], [Types.STRING(), Types.INT(), Types.LONG(), Types.LONG()]
)


def records_of(env: StreamExecutionEnvironment, *, ends: bool) -> DataStream:
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RecordTime())
    return env.from_source(Steps(ends=ends), timed, "steps").uid("steps")


def add_tables(env: StreamTableEnvironment, records: DataStream) -> None:
    """`orders` and `payments` are added to, `accounts` change, `prices` are told by key."""
    for name in ("orders", "payments", "accounts", "prices"):
        rows = records.filter(Of(name)).uid(f"{name} records").map(RowOf(), _ROW).uid(name)
        schema = Schema.new_builder()
        for column, kind in (("k", "STRING"), ("n", "INT"), ("v", "BIGINT")):
            schema.column(column, f"{kind} NOT NULL")
        schema.column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        schema.column_by_expression("pt", "PROCTIME()")
        schema.watermark("ts", "SOURCE_WATERMARK()")
        if name in ("accounts", "prices"):
            schema.primary_key("k")
        upsert = ChangelogMode.upsert() if name == "prices" else ChangelogMode.all()
        if name in ("orders", "payments"):
            table = env.from_data_stream(rows, schema.build())
        else:
            table = env.from_changelog_stream(rows, schema.build(), upsert)
        env.create_temporary_view(name, table)
