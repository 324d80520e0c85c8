"""Sales by the minute: one sum for each window, with the window's bounds."""

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows

SALES = [("tea", 3, 5_000), ("tea", 4, 59_000), ("ink", 9, 61_000), ("tea", 1, 65_000),
         ("ink", 2, 119_000), ("tea", 8, 180_000)]  # fmt: skip


class SaleTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


class Total(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield f"{key} {window.start // 1000}-{window.end // 1000}: {next(iter(elements))}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
(
    env.from_collection(SALES, kind)
    .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(SaleTime()))
    .key_by(lambda sale: sale[0])
    .window(TumblingEventTimeWindows.of(Time.minutes(1)))
    .aggregate(Total(), WithWindow(), Types.INT(), Types.STRING())
    .print()
)
env.execute("sales by the minute")

# tea 0-60: 7
# ink 60-120: 11
# tea 60-120: 1
# tea 180-240: 8
