"""What an event costs a pattern of three steps, and how much is kept, as the stream goes on.

Needs no engine: `python -m bench.micro.patterns`. The same rate of events over more and more time:
cost and state must not grow with the length of the stream.
"""

from __future__ import annotations

import random
import sys
import time
from itertools import islice

from headrace.cep import CEP, Pattern
from headrace.common import Time
from headrace.datastream import DataStream
from headrace.testing import OperatorHarness

KEYS = 10_000
BATCH = 50_000
LENGTHS = (100_000, 1_000_000, 4_000_000)
WITHIN_MS = 60_000
SEED = 7

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


def measure(events: int) -> tuple[float, int, int]:
    """Microseconds of CPU for each event, the keys with partial matches at the end, matches."""
    rng = random.Random(SEED)
    source = ((rng.randrange(KEYS), rng.randrange(100)) for _ in range(events))
    spent, sent, matches = 0.0, 0, 0
    with OperatorHarness(matched) as harness:
        while batch := list(islice(source, BATCH)):
            start = time.process_time()
            harness.send_all(batch, range(sent, sent + len(batch)))
            sent += len(batch)
            harness.advance_watermark(sent - 1)
            spent += time.process_time() - start
            matches += len(harness.take_outputs())
        kept = len(harness.state_of("partial-matches"))
    return spent / events * 1e6, kept, matches


def main(lengths: tuple[int, ...] = LENGTHS) -> None:
    print(f"{'events':>10} {'µs/event':>9} {'keys kept':>10} {'matches':>8}")
    for events in lengths:
        cost, kept, matches = measure(events)
        print(f"{events:>10} {cost:>9.2f} {kept:>10} {matches:>8}", flush=True)


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or LENGTHS)
