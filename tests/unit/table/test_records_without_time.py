"""A stream without timestamps as a table that needs them."""

from __future__ import annotations

import pytest

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import InvalidArgument
from headrace.table import Schema, StreamTableEnvironment
from headrace.testing import JobHarness


def test_a_record_without_event_time_is_told_what_to_do() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    tables = StreamTableEnvironment.create(env)
    schema = Schema.new_builder().column("f0", "INT").watermark("ts", "SOURCE_WATERMARK()")
    schema.column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
    numbers = env.from_collection([(1,)], Types.TUPLE([Types.INT()]))
    tables.to_data_stream(tables.from_data_stream(numbers, schema.build())).print()
    with pytest.raises(InvalidArgument, match="no event time") as caught:
        JobHarness().run(env)
    assert "assign_timestamps_and_watermarks" in str(caught.value)
