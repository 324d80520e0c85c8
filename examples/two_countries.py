"""Cards that are used in two countries within an hour."""

from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import StreamExecutionEnvironment

MINUTE = 60_000
USES = [
    ("card 1", "NO", 0 * MINUTE),
    ("card 2", "DE", 5 * MINUTE),
    ("card 1", "NO", 20 * MINUTE),
    ("card 1", "PT", 45 * MINUTE),
    ("card 2", "FR", 90 * MINUTE),
    ("card 2", "DE", 110 * MINUTE),
]


class TimeOfUse(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[2]


def elsewhere(use, context):
    (first,) = context.get_events_for_pattern("use")
    return use[1] != first[1]


def alert(match):
    (card, here, start), (_, there, end) = match["use"][0], match["use elsewhere"][0]
    return f"{card} was used in {here} and {(end - start) // MINUTE} minutes later in {there}"


pattern = (
    Pattern.begin("use", AfterMatchSkipStrategy.skip_past_last_event())
    .followed_by("use elsewhere")
    .where(elsewhere)
    .within(Time.hours(1))
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(5))
uses = env.from_collection(USES).assign_timestamps_and_watermarks(
    strategy.with_timestamp_assigner(TimeOfUse())
)
CEP.pattern(uses.key_by(lambda use: use[0]), pattern).select(alert).print()
env.execute("two countries")

# card 1 was used in NO and 45 minutes later in PT
# card 2 was used in FR and 20 minutes later in DE
