"""The inputs of the benchmarks, generated once and kept in `bench/.data`.

The same arguments always give the same bytes, so figures of different days can be compared.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

DATA_DIR = Path(__file__).parent / ".data"
SEED = 20_260_101
WRITE_BATCH = 100_000
FIRST_MS = 1_699_999_980_000  # a whole minute
OUT_OF_ORDER_MS = 2_000
FIRST_PRICE = 1_000_000
PRICE_STEPS = (-3, -2, -1, 1, 2, 3)
WORDS = ("river", "mill", "wheel", "sluice", "weir", "channel", "gate", "flow", "stone", "pond")


def card_lines(records: int, keys: int) -> Iterator[str]:
    """CSV lines `user,count,amount`. Every run of `keys` records has each key exactly once."""
    rng = random.Random(SEED)
    users = [f"user{number}" for number in range(keys)]
    for first in range(0, records, keys):
        rng.shuffle(users)
        for number, user in enumerate(users[: records - first], start=first):
            yield f"{user},{number},{number % 9973 / 100}\n"


def text_lines(records: int) -> Iterator[str]:
    """Lines of eight words."""
    rng = random.Random(SEED)
    for _ in range(records):
        yield " ".join(rng.choices(WORDS, k=8)) + "\n"


def reading_lines(records: int, keys: int, span_ms: int) -> Iterator[str]:
    """CSV lines `user,count,amount,time`: those of `card_lines`, spread evenly over `span_ms`.

    Each record's time is up to two seconds before its turn.
    """
    rng = random.Random(SEED)
    for number, line in enumerate(card_lines(records, keys)):
        turn = FIRST_MS + OUT_OF_ORDER_MS + number * span_ms // records
        yield f"{line.rstrip()},{turn - rng.randrange(OUT_OF_ORDER_MS)}\n"


def price_lines(records: int, keys: int, span_ms: int) -> Iterator[str]:
    """CSV lines `symbol,price,time`: a random walk of whole numbers for each symbol, in order."""
    rng = random.Random(SEED)
    symbols = [f"symbol{number}" for number in range(keys)]
    prices = dict.fromkeys(symbols, FIRST_PRICE)
    for first in range(0, records, keys):
        rng.shuffle(symbols)
        for number, symbol in enumerate(symbols[: records - first], start=first):
            prices[symbol] += rng.choice(PRICE_STEPS)
            yield f"{symbol},{prices[symbol]},{FIRST_MS + number * span_ms // records}\n"


def cards(records: int, keys: int) -> Path:
    """One CSV file of card records."""
    return _file(f"cards-{records}-{keys}.csv", card_lines(records, keys), records)


def cards_in_files(records: int, keys: int, rows_per_file: int) -> Path:
    """The same records as `cards`, as a directory of files that a stream takes one at a time."""
    return _files(f"cards-{records}-{keys}", card_lines(records, keys), records, rows_per_file)


def readings(records: int, keys: int, span_ms: int) -> Path:
    """One CSV file of records with an event time."""
    lines = reading_lines(records, keys, span_ms)
    return _file(f"readings-{records}-{keys}-{span_ms}.csv", lines, records)


def readings_in_files(records: int, keys: int, span_ms: int, rows_per_file: int) -> Path:
    """The same records as `readings`, as a directory of files."""
    lines = reading_lines(records, keys, span_ms)
    return _files(f"readings-{records}-{keys}-{span_ms}", lines, records, rows_per_file)


def prices(records: int, keys: int, span_ms: int) -> Path:
    """One CSV file of prices, each symbol's in order of time."""
    lines = price_lines(records, keys, span_ms)
    return _file(f"prices-{records}-{keys}-{span_ms}.csv", lines, records)


def text(records: int) -> Path:
    """One text file of words."""
    return _file(f"text-{records}.txt", text_lines(records), records)


def _file(name: str, lines: Iterator[str], records: int) -> Path:
    target = DATA_DIR / name
    if not target.exists():
        _write(target, lines, records)
    return target


def _files(name: str, lines: Iterator[str], records: int, rows_per_file: int) -> Path:
    target = DATA_DIR / f"{name}-by-{rows_per_file}"
    if not target.exists():
        unfinished = target.with_name(target.name + ".part")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for number, first in enumerate(range(0, records, rows_per_file)):
            count = min(rows_per_file, records - first)
            _write(unfinished / f"part-{number:04d}.csv", lines, count)
        unfinished.rename(target)
    return target


def _write(target: Path, lines: Iterator[str], count: int) -> None:
    """Take `count` lines and write them; a run cut short leaves no half file under this name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + ".part")
    wanted = islice(lines, count)
    with unfinished.open("w", encoding="utf-8") as file:
        while batch := "".join(islice(wanted, WRITE_BATCH)):
            file.write(batch)
    unfinished.rename(target)
