"""The same by session: a user's records with less than 10 seconds between them."""

from measured_job import run
from pyflink.common import Time
from pyflink.datastream.window import EventTimeSessionWindows
from window_job import summed


def job(env, path):
    return summed(env, path, EventTimeSessionWindows.with_gap(Time.seconds(10)))


run(job)
