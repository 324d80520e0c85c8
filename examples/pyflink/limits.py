"""Broadcast state: limits that hold for all. Readings wait in keyed state until all are in."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedBroadcastProcessFunction
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor

READINGS = [("a", 20, 1), ("b", 41, 2), ("a", 35, 3)]
LIMITS = [("a", 30), ("b", 50)]
LAST = 1_000


class ReadingTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class AboveLimit(KeyedBroadcastProcessFunction):
    def __init__(self, limits):
        self.limits = limits

    def open(self, runtime_context: RuntimeContext):
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.INT()))

    def process_element(self, value, ctx: "KeyedBroadcastProcessFunction.ReadOnlyContext"):
        self.waiting.add(value[1])
        ctx.timer_service().register_event_time_timer(LAST)
        return []

    def process_broadcast_element(self, value, ctx: "KeyedBroadcastProcessFunction.Context"):
        ctx.get_broadcast_state(self.limits).put(value[0], value[1])
        return []

    def on_timer(self, timestamp, ctx: "KeyedBroadcastProcessFunction.OnTimerContext"):
        limit = ctx.get_broadcast_state(self.limits).get(ctx.get_current_key())
        for degrees in self.waiting.get():
            yield f"{ctx.get_current_key()}: {degrees}{' is too high' if degrees > limit else ''}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps()
limits = MapStateDescriptor("limits", Types.STRING(), Types.INT())
readings = (
    env.from_collection(READINGS, Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]))
    .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ReadingTime()))
    .key_by(lambda reading: reading[0], key_type=Types.STRING())
)
changes = env.from_collection(LIMITS, Types.TUPLE([Types.STRING(), Types.INT()]))
readings.connect(changes.broadcast(limits)).process(AboveLimit(limits), Types.STRING()).print()
env.execute("limits")

# a: 20
# a: 35 is too high
# b: 41
