"""The input of the window benchmarks: records with an event time, somewhat out of order."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from bench import data

FIRST_MS = 1_699_999_980_000  # a whole minute
OUT_OF_ORDER_MS = 2_000


def reading_lines(records: int, keys: int, span_ms: int) -> Iterator[str]:
    """CSV lines `user,count,amount,time`: those of `cards`, spread evenly over `span_ms`.

    Each record's time is up to two seconds before its turn.
    """
    rng = random.Random(data.SEED)
    for number, line in enumerate(data.card_lines(records, keys)):
        turn = FIRST_MS + OUT_OF_ORDER_MS + number * span_ms // records
        yield f"{line.rstrip()},{turn - rng.randrange(OUT_OF_ORDER_MS)}\n"


def readings(records: int, keys: int, span_ms: int) -> Path:
    """One CSV file of such records."""
    target = data.DATA_DIR / f"readings-{records}-{keys}-{span_ms}.csv"
    if not target.exists():
        data._write(target, reading_lines(records, keys, span_ms), records)
    return target


def readings_in_files(records: int, keys: int, span_ms: int, rows_per_file: int) -> Path:
    """The same records as a directory of files that a stream takes one at a time."""
    target = data.DATA_DIR / f"readings-{records}-{keys}-{span_ms}-by-{rows_per_file}"
    if not target.exists():
        unfinished = target.with_name(target.name + ".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        lines = reading_lines(records, keys, span_ms)
        for number, first in enumerate(range(0, records, rows_per_file)):
            count = min(rows_per_file, records - first)
            data._write(unfinished / f"part-{number:04d}.csv", lines, count)
        unfinished.rename(target)
    return target
