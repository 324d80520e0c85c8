"""What an event costs a pattern of three steps, and how much is kept, as the stream goes on.

Needs no engine: `python -m bench.micro.patterns`. The same rate of events over more and more time:
cost and state must not grow with the length of the stream. Events of the first two minutes are not
counted: until then nothing is old enough to be given up.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from collections.abc import Iterator
from itertools import islice

from headrace.cep import CEP, Pattern
from headrace.common import Time
from headrace.datastream import DataStream
from headrace.testing import OperatorHarness

KEYS = 10_000
BATCH = 50_000
LENGTHS = (100_000, 1_000_000, 4_000_000)
WITHIN_MS = 60_000
NOT_COUNTED = 2 * WITHIN_MS
SEED = 7
RESULT_MARK, GROWTH_MARK = "BENCH-RESULT ", "BENCH-GROWTH "

Event = tuple[int, int]
"""Key and amount; the number of the event is its time in milliseconds."""


def pattern() -> Pattern:
    small = Pattern.begin("small").where(lambda event: event[1] < 5)
    middling = small.followed_by("middling").where(lambda event: 40 <= event[1] < 50)
    large = middling.followed_by("large").where(lambda event: event[1] >= 90)
    return large.within(Time.milliseconds(WITHIN_MS))


def matched(events: DataStream) -> DataStream:
    found = CEP.pattern(events.key_by(lambda event: event[0]), pattern())
    return found.select(lambda match: match["small"][0][0])


def all_events() -> Iterator[Event]:
    rng = random.Random(SEED)
    while True:
        yield rng.randrange(KEYS), rng.randrange(100)


def measure(events: int) -> tuple[float, int, int]:
    """Seconds of CPU for the events, the keys with partial matches at the end, matches."""
    source = all_events()
    spent, matches = 0.0, 0
    with OperatorHarness(matched) as harness:
        _send(harness, list(islice(source, NOT_COUNTED)), 0)
        harness.take_outputs()
        for sent in range(0, events, BATCH):
            batch = list(islice(source, min(BATCH, events - sent)))
            start = time.process_time()
            _send(harness, batch, NOT_COUNTED + sent)
            spent += time.process_time() - start
            matches += len(harness.take_outputs())
        kept = len(harness.state_of("partial-matches"))
    return spent, kept, matches


def _send(harness: OperatorHarness, batch: list[Event], first: int) -> None:
    harness.send_all(batch, range(first, first + len(batch)))
    harness.advance_watermark(first + len(batch) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lengths", type=int, nargs="*", default=LENGTHS, help="counts of events")
    parser.add_argument("--figures", action="store_true", help="for programs, not for people")
    args = parser.parse_args()
    if not args.figures:
        print(f"{'events':>10} {'µs/event':>9} {'keys kept':>10} {'matches':>8}")
    for events in args.lengths:
        seconds, kept, matches = measure(events)
        cost = seconds / events * 1e6
        if args.figures:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            figures = {"microseconds": cost, "keys_kept": kept, "peak_mib": peak}
            print(GROWTH_MARK + json.dumps(figures))
            print(RESULT_MARK + json.dumps({"execute_seconds": seconds, "start_up_seconds": 0.0}))
        else:
            print(f"{events:>10} {cost:>9.2f} {kept:>10} {matches:>8}", flush=True)


if __name__ == "__main__":
    main()
