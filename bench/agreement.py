"""Whether both engines compute the same: a fast wrong answer is no benchmark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import data
from bench.engines import Engine, headrace, pyflink, run
from bench.measure import START_UP_RECORDS, Progress

# Both engines print a record as `2> (a,b)` or `(a,b)`, a table's row as `+I[a, b]`; the number is
# only the printing task's.
PRINTED = re.compile(r"^(?:\d+> )?(\(.*\)|[+-][IUD]\[.*\])$")
# The order in which floats are added shows in the last digits.
FLOAT = re.compile(r"-?\d+\.\d+(?:[eE]-?\d+)?")
KEYS = 100
SPAN_MS = 100_000
PRICES = 10_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """The printed records of one job, compared as multisets."""

    script: str
    records: int
    only_headrace: int
    only_pyflink: int

    @property
    def holds(self) -> bool:
        """Whether there were records and all were the same."""
        return self.records > 0 and self.only_headrace == self.only_pyflink == 0


def agreements(progress: Progress) -> list[Agreement]:
    """Run every job on 1k records on both engines and compare what they print."""
    cards, text = data.cards(START_UP_RECORDS, KEYS), data.text(START_UP_RECORDS)
    timed = data.readings(START_UP_RECORDS, KEYS, SPAN_MS)
    prices = data.prices(PRICES, KEYS, SPAN_MS)
    inputs = {
        "stateless": cards,
        "keyed_count": cards,
        "keyed_bytes": cards,
        "word_count": text,
        "window_tumbling": timed,
        "window_sliding": timed,
        "window_session": timed,
        "sql_query match": prices,
    }
    engine, peer = headrace(), pyflink("thread")
    peer.check()
    found = []
    for job, path in inputs.items():
        progress(f"{job} on both engines")
        name, *arguments = job.split()
        script = f"jobs/{name}.py"
        ours = printed(engine, script, path, arguments)
        theirs = printed(peer, script, path, arguments)
        found.append(
            Agreement(script, theirs.total(), (ours - theirs).total(), (theirs - ours).total())
        )
    return found


def printed(engine: Engine, script: str, path: Path, arguments: Sequence[str]) -> Counter[str]:
    """The records that a job prints, with how often each came."""
    output = run(engine, script, [*arguments, "--input", str(path), "--print"]).output
    matches = (PRINTED.match(line) for line in output.splitlines())
    return Counter(_plain(match.group(1)) for match in matches if match)


def _plain(record: str) -> str:
    """A printed record without what may differ: blanks, quotes, the last digits of sums."""
    text = record.replace(" ", "").replace("'", "")
    return FLOAT.sub(lambda number: f"{float(number.group()):.6f}", text)
