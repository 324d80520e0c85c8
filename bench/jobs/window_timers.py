"""A million keys register a timer each, then the watermark passes them all.

Runs in process, where the two can be timed apart. What is printed as start-up is registering.
"""

from __future__ import annotations

import argparse
import json
import random
import time

from headrace.datastream.functions import KeyedProcessFunction
from headrace.testing import OperatorHarness

RESULT_MARK = "BENCH-RESULT "
SEED = 20_260_101
RECORDS_AT_ONCE = 50_000


class WakeOnce(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp, ctx):
        yield timestamp


def main() -> None:
    """Time both steps; few timers share a time, which is the dearer case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--timers", type=int, required=True)
    count = parser.parse_args().timers
    rng = random.Random(SEED)
    records = [(number, rng.randrange(count)) for number in range(count)]
    with OperatorHarness.keyed(WakeOnce(), lambda record: record[0]) as harness:
        begin = time.perf_counter()
        for first in range(0, count, RECORDS_AT_ONCE):
            harness.send_all(records[first : first + RECORDS_AT_ONCE])
        registered = time.perf_counter()
        harness.advance_watermark(count)
        fired = time.perf_counter()
        results = len(harness.take_outputs())
    if results != count:
        raise SystemExit(f"{results} of {count} timers fired")
    figures = {"execute_seconds": fired - registered, "start_up_seconds": registered - begin}
    print(RESULT_MARK + json.dumps(figures), flush=True)


main()
