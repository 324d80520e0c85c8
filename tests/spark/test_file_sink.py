"""File sinks in jobs on Spark: parts over many micro-batches, formats, stopping and resuming."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from headrace.common import Configuration, Encoder, Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import (
    Boundedness,
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)
from headrace.datastream.formats.csv import CsvBulkWriters, CsvSchema
from headrace.datastream.formats.json import JsonBulkWriters
from headrace.datastream.formats.parquet import ParquetBulkWriters
from tests.conftest import IN_REAL_TIME
from tests.spark.conftest import visible
from tests.spark.fault_jobs import Numbers

FLAT = BucketAssigner.base_path_bucket_assigner()
NO_WATERMARKS = WatermarkStrategy.no_watermarks()
LinesOf = Callable[[Path], Counter[str]]
PAIRS = Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()])


HOUR = 3_600_000


class Endless(Numbers):
    """The same records; whether more come is not known."""

    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED


def lines(source: Numbers) -> Counter[str]:
    return Counter(f"key-{n % 7} {n * source.count + part}"
                   for n in range(source.limit) for part in range(source.count))  # fmt: skip


def row_sink(folder: Path, policy: RollingPolicy, check_ms: int = 100) -> FileSink:
    return (
        FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
        .with_bucket_assigner(FLAT)
        .with_rolling_policy(policy)
        .with_bucket_check_interval(check_ms)
        .build()
    )


def write(env: StreamExecutionEnvironment, source: Numbers, sink: FileSink) -> None:
    records = env.from_source(source, NO_WATERMARKS, "numbers").uid("numbers")
    texts = records.map(lambda record: f"{record[0]} {record[1]}", Types.STRING()).uid("texts")
    texts.sink_to(sink).uid("files")


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*")]


def test_a_part_gathers_many_micro_batches(
    env: StreamExecutionEnvironment, streaming: None, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=60, step=10)
    policy = RollingPolicy.default_rolling_policy(1 << 20, HOUR, HOUR)
    write(env, source, row_sink(tmp_path, policy, HOUR))
    env.execute()
    assert lines_of(tmp_path) == lines(source)
    assert len(visible(tmp_path)) == 2  # one for each subtask, from six micro-batches
    assert hidden(tmp_path) == []


def test_a_part_is_finished_when_it_is_large(
    env: StreamExecutionEnvironment, streaming: None, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=60, step=10)
    policy = RollingPolicy.default_rolling_policy(150, HOUR, HOUR)
    write(env, source, row_sink(tmp_path, policy, HOUR))
    env.execute()
    assert lines_of(tmp_path) == lines(source)
    assert len(visible(tmp_path)) > 2
    large = [path for path in visible(tmp_path) if path.stat().st_size > 150]
    assert len(large) >= len(visible(tmp_path)) - 2


@pytest.mark.smoke
@pytest.mark.micro_batch("counts the parts of micro-batches")
def test_every_micro_batch_finishes_its_parts(
    env: StreamExecutionEnvironment, streaming: None, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=60, step=10)
    write(env, source, row_sink(tmp_path, RollingPolicy.on_checkpoint_rolling_policy()))
    env.execute()
    assert lines_of(tmp_path) == lines(source)
    assert len(visible(tmp_path)) == 12
    assert hidden(tmp_path) == []


def test_a_stopped_job_goes_on(
    tmp_path: Path, lines_of: LinesOf, eventually: Callable[..., None]
) -> None:
    out = tmp_path / "out"
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
    policy = RollingPolicy.default_rolling_policy(1 << 20, 500, 500)
    for limit in (30, 70):
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.set_parallelism(2)
        env.enable_checkpointing(100)
        source = Endless(limit=limit, step=10)
        write(env, source, row_sink(out, policy))
        job = env.execute_async("endless")
        known = lines(source)
        eventually(lambda known=known: lines_of(out) == known)
        job.cancel().result()
    assert lines_of(out) == lines(Numbers(limit=70, step=10))


@pytest.mark.parametrize("compacted", [False, True], ids=["as written", "compacted"])
@pytest.mark.smoke
def test_parquet(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path, compacted: bool
) -> None:
    source = Numbers(limit=40, step=10)
    builder = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(PAIRS))
    builder.with_bucket_assigner(FLAT)
    if compacted:
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(100).build()
        builder.enable_compact(strategy, FileCompactor.record_wise_file_compactor())
    records = env.from_source(source, NO_WATERMARKS, "numbers")
    records.map(lambda pair: Row(*pair), PAIRS).sink_to(builder.build())
    env.execute()
    tables = [pyarrow.parquet.read_table(path) for path in visible(tmp_path)]
    at_once = mode == "batch" or IN_REAL_TIME  # a job that flows has no checkpoint before its end
    assert len(tables) == (1 if compacted else 2 if at_once else 8)
    found = Counter(f"{row['key']} {row['n']}" for table in tables for row in table.to_pylist())
    assert found == lines(source)
    assert hidden(tmp_path) == []


def test_lines_of_bulk_formats(
    env: StreamExecutionEnvironment, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=5, step=5)
    schema = CsvSchema.builder().add_string_column("key").add_number_column("n").build()
    formats: dict[str, Any] = {
        "csv": CsvBulkWriters.for_schema(schema),
        "json": JsonBulkWriters.for_type(),
    }
    records = env.from_source(source, NO_WATERMARKS, "numbers")
    rows = records.map(lambda pair: Row(key=pair[0], n=pair[1]), PAIRS)
    for name, factory in formats.items():
        builder = FileSink.for_bulk_format(str(tmp_path / name), factory)
        rows.sink_to(builder.with_bucket_assigner(FLAT).build())
    env.execute()
    expected = [line.split() for line in lines(source)]
    assert lines_of(tmp_path / "csv") == Counter(f"{key},{n}" for key, n in expected)
    assert lines_of(tmp_path / "json") == Counter(
        f'{{"key":"{key}","n":{n}}}' for key, n in expected
    )
