"""Clicks of a user belong together until there is a pause of half a minute."""

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor

PAUSE = 30_000

CLICKS = [
    ("ann", 1_000, "home"),
    ("bob", 2_000, "home"),
    ("ann", 9_000, "shoes"),
    ("ann", 70_000, "home"),
    ("bob", 20_000, "hats"),
]


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Sessions(KeyedProcessFunction):
    def open(self, runtime_context):
        self.pages = runtime_context.get_list_state(ListStateDescriptor("pages"))
        self.ends_at = runtime_context.get_state(ValueStateDescriptor("ends at"))

    def process_element(self, value, ctx):
        self.pages.add(value[2])
        timers = ctx.timer_service()
        before = self.ends_at.value()
        if before is not None and before < ctx.timestamp():
            yield from self.end_session(
                ctx, before
            )  # the pause is over, but time has not come so far
        elif before is not None:
            timers.delete_event_time_timer(before)
        self.ends_at.update(ctx.timestamp() + PAUSE)
        timers.register_event_time_timer(ctx.timestamp() + PAUSE)

    def end_session(self, ctx, end):
        *earlier, newest = self.pages.get()
        ctx.timer_service().delete_event_time_timer(end)
        self.pages.update([newest])
        yield ctx.get_current_key(), earlier

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), list(self.pages.get())
        self.pages.clear()
        self.ends_at.clear()


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
(
    env.from_collection(CLICKS)
    .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ClickTime()))
    .key_by(lambda click: click[0])
    .process(Sessions())
    .print()
)
env.execute("user sessions")

# ('ann', ['home', 'shoes'])
# ('ann', ['home'])
# ('bob', ['home', 'hats'])
