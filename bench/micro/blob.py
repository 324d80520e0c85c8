"""What it costs to write and read back a blob of records, by layout and encoder.

Needs no engine: `python -m bench.micro.blob`. Records travel between levels as blobs, so these
figures bound the speed of every keyed job.
"""

from __future__ import annotations

import io
import marshal
import pickle
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RECORDS = 10_000
REPEATS = 15


@dataclass(frozen=True, slots=True)
class Encoder:
    """One way to turn a blob's Python objects into bytes and back."""

    name: str
    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]


@dataclass(frozen=True, slots=True)
class Figure:
    """Nanoseconds per record and bytes per record of one encoder on one layout."""

    shape: str
    layout: str
    encoder: str
    dumps_ns: float
    loads_ns: float
    size: float


def fast_pickle(value: Any) -> bytes:
    """Pickle without the memo: smaller and quicker, but shared objects are written twice."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=5)
    pickler.fast = True
    pickler.dump(value)
    return buffer.getvalue()


ENCODERS = (
    Encoder("pickle 5", lambda value: pickle.dumps(value, protocol=5), pickle.loads),
    Encoder("pickle 5 fast", fast_pickle, pickle.loads),
    Encoder("marshal 4", lambda value: marshal.dumps(value, 4), marshal.loads),
    # Version 2 has no reference table, so nothing is looked up for each object written.
    Encoder("marshal 2", lambda value: marshal.dumps(value, 2), marshal.loads),
)


def tuple_records() -> list[Any]:
    """Records like a parsed CSV line; every object is new, as after parsing."""
    return [(f"key{i % 997}", i, i * 0.5) for i in range(RECORDS)]


def string_records() -> list[Any]:
    """Short strings, each its own object."""
    return [f"word{i % 997}" for i in range(RECORDS)]


def dict_records() -> list[Any]:
    """Records like a parsed JSON line."""
    return [{"user": f"key{i % 997}", "count": i, "amount": i * 0.5} for i in range(RECORDS)]


def envelope_records() -> list[Any]:
    """Key, timestamp and tuple value: what a keyed level receives for each record."""
    return [(f"key{i % 997}", 1_700_000_000_000 + i, (f"key{i % 997}", i)) for i in range(RECORDS)]


SHAPES: tuple[tuple[str, Callable[[], list[Any]]], ...] = (
    ("('key123', 17, 3.5)", tuple_records),
    ("short string", string_records),
    ("dict of 3", dict_records),
    ("(key, ts, (key, n))", envelope_records),
)


def columns(records: list[Any]) -> tuple[list[Any], ...]:
    """The same records turned on their side: one list for each field."""
    return tuple(list(column) for column in zip(*records, strict=True))


def median_ns(call: Callable[[], Any]) -> float:
    """Median nanoseconds per record of `call`, which handles a whole blob."""
    samples = []
    for _ in range(REPEATS):
        start = time.perf_counter_ns()
        call()
        samples.append((time.perf_counter_ns() - start) / RECORDS)
    return statistics.median(samples)


def measure(shape: str, layout: str, value: Any, encoder: Encoder) -> Figure:
    """Time one encoder on one blob."""
    data = encoder.dumps(value)
    return Figure(
        shape=shape,
        layout=layout,
        encoder=encoder.name,
        dumps_ns=median_ns(lambda: encoder.dumps(value)),
        loads_ns=median_ns(lambda: encoder.loads(data)),
        size=len(data) / RECORDS,
    )


def figures() -> list[Figure]:
    """Every encoder on every layout of every shape."""
    found: list[Figure] = []
    for shape, make in SHAPES:
        records = make()
        layouts: list[tuple[str, Any]] = [("list of records", records)]
        if isinstance(records[0], tuple):
            layouts.append(("column lists", columns(records)))
        for layout, value in layouts:
            found.extend(measure(shape, layout, value, encoder) for encoder in ENCODERS)
    return found


def transposition_ns() -> tuple[float, float]:
    """What columns cost on top: turning records into columns, and columns into records."""
    records = tuple_records()
    cut = columns(records)
    return median_ns(lambda: columns(records)), median_ns(lambda: list(zip(*cut, strict=True)))


def main() -> None:
    """Print the figures as text, one line each."""
    print(f"{RECORDS} records a blob, median of {REPEATS}, ns per record")
    print(
        f"{'shape':<22}{'layout':<18}{'encoder':<15}{'dumps':>8}{'loads':>8}{'both':>8}{'B/rec':>8}"
    )
    for f in figures():
        both = f.dumps_ns + f.loads_ns
        print(
            f"{f.shape:<22}{f.layout:<18}{f.encoder:<15}"
            f"{f.dumps_ns:>8.0f}{f.loads_ns:>8.0f}{both:>8.0f}{f.size:>8.1f}"
        )
    to_columns, to_records = transposition_ns()
    print(f"records to columns {to_columns:.0f}, columns to records {to_records:.0f}")


if __name__ == "__main__":
    main()
