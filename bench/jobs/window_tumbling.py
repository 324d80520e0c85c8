"""Sum and count by user and window of 10 seconds, one after the other."""

from measured_job import run
from pyflink.common import Time
from pyflink.datastream.window import TumblingEventTimeWindows
from window_job import summed


def job(env, path):
    return summed(env, path, TumblingEventTimeWindows.of(Time.seconds(10)))


run(job)
