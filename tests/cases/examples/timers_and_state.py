"""A process function that keeps what it saw, and tells it when nothing more came for a while."""

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

ODD = OutputTag("odd", Types.STRING())
EVENTS = [("a", 1, 1000), ("b", 2, 1200), ("a", 3, 1500), ("a", 5, 9000), ("b", 4, 9500)]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Collected(KeyedProcessFunction):
    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.counts = runtime_context.get_map_state(
            MapStateDescriptor("counts", Types.BOOLEAN(), Types.INT())
        )

    def process_element(self, value, ctx):
        before = self.last.value()
        if before is not None:
            ctx.timer_service().delete_event_time_timer(before + 3000)
        self.last.update(value[2])
        self.seen.add(value[1])
        even = value[1] % 2 == 0
        self.counts.put(even, (self.counts.get(even) or 0) + 1)
        ctx.timer_service().register_event_time_timer(value[2] + 3000)
        if not even:
            yield ODD, f"odd {value[1]} of {ctx.get_current_key()}"

    def on_timer(self, timestamp, ctx):
        numbers = list(self.seen.get())
        yield f"{ctx.get_current_key()} at {timestamp}: {numbers} {sorted(self.counts.items())}"
        self.seen.clear()


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
    events = env.from_collection(EVENTS, kind).assign_timestamps_and_watermarks(strategy)
    told = events.key_by(lambda event: event[0]).process(Collected(), Types.STRING())
    told.print()
    told.get_side_output(ODD).print()
    env.execute("timers and state")


if __name__ == "__main__":
    main()
