"""What the window benchmarks share: records with an event time, and a sum and count of them."""

from __future__ import annotations

from measured_job import lines
from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.functions import AggregateFunction

RECORD = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()])
MOST_OUT_OF_ORDER = Duration.of_seconds(2)


# What runs in workers is made inside functions: PyFlink's workers cannot import this module, and
# such classes travel whole, not by name.


def time_of_record():
    class TimeOfRecord(TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return value[2]

    return TimeOfRecord()


def sum_and_count():
    class SumAndCount(AggregateFunction):
        def create_accumulator(self):
            return 0.0, 0

        def add(self, value, accumulator):
            return accumulator[0] + value[1], accumulator[1] + 1

        def get_result(self, accumulator):
            return accumulator

        def merge(self, acc_a, acc_b):
            return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]

    return SumAndCount()


def parser():
    def parse(line):
        user, _, amount, time = line.split(",")
        return user, float(amount), int(time)

    return parse


def summed(env, path, windows):
    """The sum and count of each user's window; timestamps and watermarks as in most programs."""
    # New for each job: PyFlink ties a type it has used to the gateway, and cannot pickle that.
    kept, result = (Types.TUPLE([Types.DOUBLE(), Types.LONG()]) for _ in range(2))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(MOST_OUT_OF_ORDER)
    return (
        lines(env, path)
        .map(parser(), output_type=RECORD)
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(time_of_record()))
        .key_by(lambda record: record[0], key_type=Types.STRING())
        .window(windows)
        .aggregate(sum_and_count(), accumulator_type=kept, output_type=result)
    )
