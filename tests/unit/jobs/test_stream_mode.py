"""Which mode a stream runs in if nobody says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import (
    DataGeneratorSource,
    DiscardingSink,
    FileSource,
    StreamFormat,
)
from headrace.jobs import stream_mode
from headrace.jobs.launcher import JobSettings, _with_mode
from headrace.jobs.stream_mode import choose_mode
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.flow.fed import with_fed_sources
from headrace.runtime.flow.sources import with_splits
from headrace.spark.flow.attempt import MICRO_BATCH, REAL_TIME, StreamSettings
from headrace.spark.flow.run import slots_needed


def planned(source: Any) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "input")
    stream.sink_to(DiscardingSink())
    return plan(env.builder.peek("job", parallelism=2, max_parallelism=8))


def numbers() -> PhysicalPlan:
    return planned(DataGeneratorSource(lambda number: number))


def watched(folder: Path) -> PhysicalPlan:
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    return planned(lines.monitor_continuously(Duration.of_seconds(1)).build())


def test_a_source_that_spark_reads_needs_a_slot_more(tmp_path: Path):
    def slots(source: PhysicalPlan) -> int:
        return slots_needed(with_fed_sources(with_splits(source)))

    assert slots(watched(tmp_path / "*")) == slots(watched(tmp_path)) + 1


def test_in_batch_mode_nothing_flows():
    wanted = JobSettings(stream=StreamSettings(mode=REAL_TIME))
    assert _with_mode(numbers(), wanted).stream.mode == REAL_TIME
    batch = replace(numbers(), batch=True)
    assert _with_mode(batch, wanted).stream.mode == MICRO_BATCH


@pytest.mark.parametrize(
    ("slots", "trouble", "mode", "words"),
    [
        (100, None, REAL_TIME, "in real time: its sources"),
        (1, None, MICRO_BATCH, "in micro-batches: it would need"),
        (100, "rows are lost", MICRO_BATCH, "failed a test: rows are lost"),
    ],
)
def test_spark_has_a_say(monkeypatch, capsys, slots, trouble, mode, words):
    monkeypatch.setattr(stream_mode, "task_slots", lambda spark: slots)
    monkeypatch.setattr(stream_mode, "driver_host", lambda spark: "127.0.0.1")
    monkeypatch.setattr(stream_mode, "why_not_real_time", lambda spark, host: trouble)
    assert choose_mode(numbers(), lambda: None) == mode
    [line] = capsys.readouterr().err.splitlines()
    assert words in line
