"""A pattern of three steps: a small, then a middling, then a large amount within ten seconds.

PyFlink has no pattern library in Python, so this one runs on headrace only.
"""

from measured_job import lines, run
from pyflink.common import Time, WatermarkStrategy
from window_job import MOST_OUT_OF_ORDER, RECORD, parser, time_of_record

from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern


def pattern():
    return (
        Pattern.begin("small", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda record: record[1] < 10)
        .followed_by("middling")
        .where(lambda record: 40 <= record[1] < 60)
        .followed_by("large")
        .where(lambda record: record[1] > 90)
        .within(Time.seconds(10))
    )


def job(env, path):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(MOST_OUT_OF_ORDER)
    timed = (
        lines(env, path)
        .map(parser(), output_type=RECORD)
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(time_of_record()))
    )
    found = CEP.pattern(timed.key_by(lambda record: record[0]), pattern())
    return found.select(lambda match: (match["small"][0][0], match["large"][0][2]))


run(job)
