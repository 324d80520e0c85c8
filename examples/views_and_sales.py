"""How often each article was looked at and bought, minute by minute."""

from headrace.common import Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import CoGroupFunction
from headrace.datastream.window import TumblingEventTimeWindows

VIEWS = [("hat", 1_000), ("hat", 7_000), ("bag", 9_000), ("hat", 65_000)]
SALES = [("hat", 30_000), ("pen", 40_000), ("hat", 70_000)]


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class Compare(CoGroupFunction):
    """One of the groups may be empty: nothing is lost, as it would be in a join."""

    def co_group(self, first, second):
        article, at = (first or second)[0]
        yield f"minute {at // 60_000}, {article}: viewed {len(first)}, sold {len(second)}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
views = env.from_collection(VIEWS).assign_timestamps_and_watermarks(strategy)
sales = env.from_collection(SALES).assign_timestamps_and_watermarks(strategy)
(
    views.co_group(sales)
    .where(lambda view: view[0])
    .equal_to(lambda sale: sale[0])
    .window(TumblingEventTimeWindows.of(Time.minutes(1)))
    .apply(Compare())
    .print()
)
env.execute("views and sales")

# minute 0, hat: viewed 2, sold 1
# minute 0, bag: viewed 1, sold 0
# minute 0, pen: viewed 0, sold 1
# minute 1, hat: viewed 1, sold 1
