"""The same by window of a minute, one starting every second: each record is in sixty."""

from measured_job import run
from pyflink.common import Time
from pyflink.datastream.window import SlidingEventTimeWindows
from window_job import summed


def job(env, path):
    return summed(env, path, SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(1)))


run(job)
