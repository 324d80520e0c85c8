"""Windows of streams, and two streams that share a state."""

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import (
    AggregateFunction,
    KeyedCoProcessFunction,
    ProcessWindowFunction,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

READINGS = [("x", 4, 0), ("x", 6, 900), ("y", 5, 1100), ("x", 1, 2500), ("y", 7, 2600)]
KIND = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Shown(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield f"{key} {window.start}-{window.end}: {[each[1] for each in elements]}"


class Limits(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))

    def process_element1(self, value, ctx):
        self.sum.update((self.sum.value() or 0) + value[1])

    def process_element2(self, value, ctx):
        self.sum.update((self.sum.value() or 0) - value[1])

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.sum.value()


class Told(Limits):
    def process_element1(self, value, ctx):
        super().process_element1(value, ctx)
        ctx.timer_service().register_event_time_timer(1_000_000)

    def process_element2(self, value, ctx):
        super().process_element2(value, ctx)
        ctx.timer_service().register_event_time_timer(1_000_000)


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    readings = env.from_collection(READINGS, KIND).assign_timestamps_and_watermarks(strategy)
    keyed = readings.key_by(lambda reading: reading[0], Types.STRING())
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.seconds(2)))
    tumbling.aggregate(Mean(), output_type=Types.DOUBLE()).print("mean")
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(1000)))
    sessions.process(Shown(), Types.STRING()).print()
    keyed.count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])).print("two")
    other = env.from_collection([("x", 100, 50), ("z", 1, 60)], KIND)
    limits = other.assign_timestamps_and_watermarks(strategy).key_by(lambda each: each[0])
    both = keyed.connect(limits).process(Told(), Types.TUPLE([Types.STRING(), Types.INT()]))
    both.print("sum")
    env.execute("windows and joins")


if __name__ == "__main__":
    main()
