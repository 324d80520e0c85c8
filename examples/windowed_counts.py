"""Clicks of each page in windows of ten seconds; what comes too late is kept beside them."""

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing import ScriptedSource

LATE = OutputTag("late")

# Page and second; each list is one micro-batch, for which records are late depends on them.
CLICKS = [
    [("home", 1), ("shoes", 3), ("home", 8)],
    [("home", 16), ("shoes", 5)],  # time is at second 4: nothing is over yet
    [("home", 7)],  # at 12: the first window is over, and fires again
    [("shoes", 31)],
    [("home", 2), ("shoes", 29)],  # at 27: too late for the first window, in time for the third
]


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, one, other):
        return one + other


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        (count,) = elements
        window = context.window()
        yield f"{window.start // 1000} to {window.end // 1000}, {key}: {count}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.enable_checkpointing(200)  # a stream, though this input ends: in a batch nothing is late
strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(4))
counts = (
    env.from_source(ScriptedSource(CLICKS), strategy.with_timestamp_assigner(ClickTime()), "clicks")
    .key_by(lambda click: click[0])
    .window(TumblingEventTimeWindows.of(Time.seconds(10)))
    .allowed_lateness(Time.seconds(5))
    .side_output_late_data(LATE)
    .aggregate(Count(), WithWindow())
)
counts.print()
counts.get_side_output(LATE).map(lambda click: f"too late: {click[0]} at {click[1]}").print()
env.execute("windowed counts")

# 0 to 10, home: 2
# 0 to 10, shoes: 2
# 0 to 10, home: 3
# 10 to 20, home: 1
# 20 to 30, shoes: 1
# 30 to 40, shoes: 1
# too late: home at 2
