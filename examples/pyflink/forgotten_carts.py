"""State and timers: a cart that nobody touches for ten seconds is told, once."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor

CLICKS = [("ann", "tea", 1_000), ("bob", "ink", 2_000), ("bob", "pay", 4_000),
          ("ann", "cup", 9_000), ("cem", "pot", 31_000)]  # fmt: skip
PAUSE = 10_000


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Carts(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.things = runtime_context.get_list_state(ListStateDescriptor("things", Types.STRING()))
        self.due = runtime_context.get_state(ValueStateDescriptor("due", Types.LONG()))

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        timers = ctx.timer_service()
        if self.due.value() is not None:
            timers.delete_event_time_timer(self.due.value())
        if value[1] == "pay":
            yield f"{value[0]} pays for {', '.join(self.things.get())}"
            self.things.clear()
            self.due.clear()
            return
        self.things.add(value[1])
        self.due.update(ctx.timestamp() + PAUSE)
        timers.register_event_time_timer(ctx.timestamp() + PAUSE)

    def on_timer(self, timestamp, ctx: "KeyedProcessFunction.OnTimerContext"):
        yield f"{ctx.get_current_key()} forgot {', '.join(self.things.get())} by {timestamp}"
        self.things.clear()
        self.due.clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ClickTime())
kind = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
(
    env.from_collection(CLICKS, kind)
    .assign_timestamps_and_watermarks(strategy)
    .key_by(lambda click: click[0], key_type=Types.STRING())
    .process(Carts(), Types.STRING())
    .print()
)
env.execute("forgotten carts")

# bob pays for ink
# ann forgot tea, cup by 19000
# cem forgot pot by 41000
