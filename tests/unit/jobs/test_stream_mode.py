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
from headrace.errors import Unsupported
from headrace.jobs import stream_mode
from headrace.jobs.launcher import JobSettings, _with_mode
from headrace.jobs.stream_mode import choose_mode, why_not_by_plan
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.spark.flow.attempt import MICRO_BATCH, REAL_TIME, StreamSettings


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


def test_a_source_with_splits_flows():
    assert why_not_by_plan(numbers()) is None


def test_files_that_spark_alone_can_open_are_left_to_it(tmp_path: Path):
    assert "is read by Spark" in (why_not_by_plan(watched(tmp_path / "*")) or "")


def test_who_asks_for_real_time_where_there_is_none_is_told_before_anything_runs(tmp_path: Path):
    wanted = Configuration().set_string("headrace.stream.mode", REAL_TIME)
    env = StreamExecutionEnvironment.get_execution_environment(wanted)
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{tmp_path}/*")
    source = lines.monitor_continuously(Duration.of_seconds(1)).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "patterns").print()
    with pytest.raises(Unsupported) as refused:
        env.execute_async()
    text = str(refused.value)
    assert (
        "'Source: patterns' cannot be read in real time: Spark reads it, in micro-batches" in text
    )
    assert "test_stream_mode.py" in text
    assert "Set headrace.stream.mode to auto or micro-batch" in text


def test_in_batch_mode_nothing_flows():
    wanted = JobSettings(stream=StreamSettings(mode=REAL_TIME))
    assert _with_mode(numbers(), wanted).stream.mode == REAL_TIME
    batch = replace(numbers(), batch=True)
    assert _with_mode(batch, wanted).stream.mode == MICRO_BATCH


def test_a_folder_that_is_watched_is_read_in_real_time(tmp_path: Path):
    assert why_not_by_plan(watched(tmp_path)) is None


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
