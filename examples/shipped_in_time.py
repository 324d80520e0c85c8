"""Which shipments left within an hour of their order."""

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import ProcessJoinFunction

MINUTE = 60_000

ORDERS = [("tea", 0 * MINUTE), ("ink", 5 * MINUTE), ("rug", 10 * MINUTE)]
SHIPMENTS = [("ink", 20 * MINUTE), ("tea", 60 * MINUTE), ("rug", 71 * MINUTE)]


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class MinutesTaken(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        taken = ctx.get_right_timestamp() - ctx.get_left_timestamp()
        yield f"{left[0]} was shipped after {taken // MINUTE} minutes"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))


def events(records):
    timed = strategy.with_timestamp_assigner(SecondField())
    stream = env.from_collection(records).assign_timestamps_and_watermarks(timed)
    return stream.key_by(lambda record: record[0])


(
    events(ORDERS)
    .interval_join(events(SHIPMENTS))
    .between(Duration.of_millis(0), Duration.of_hours(1))
    .process(MinutesTaken())
    .print()
)
env.execute("shipped in time")

# tea was shipped after 60 minutes
# ink was shipped after 15 minutes
