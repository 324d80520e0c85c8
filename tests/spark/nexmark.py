"""Nexmark's data, and whether a result is the right one."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.nexmark import generator
from bench.nexmark.queries import text
from headrace.core.logical_types import DecimalType, Field
from headrace.graph.relations import Relation
from headrace.operators.functions.text_forms import writer
from headrace.sql import statements as st
from headrace.sql.parse_statements import parse_script
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment

RECORDED = Path(__file__).resolve().parents[1] / "cases" / "nexmark.tsv"
EVENTS = 10_000


def generate(folder: Path, events: int = EVENTS) -> Path:
    """Events; of as many as by default Flink's answers are known."""
    generator.write(folder, events)
    return folder


def cut(data: Path, folder: Path, parts: int, chance: random.Random) -> Path:
    """The same events as files of any lengths, one for each micro-batch, in order of time."""
    lines = [line for file in sorted((data / "csv").iterdir())
             for line in file.read_text().splitlines(keepends=True)]  # fmt: skip
    lines.sort(key=lambda line: line.split(",", 2)[1])
    ends = [*sorted(chance.sample(range(1, len(lines)), parts - 1)), len(lines)]
    (folder / "csv").mkdir(parents=True)
    begin = 0
    for number, end in enumerate(ends):
        file = folder / "csv" / f"part-{number:02}.csv"
        file.write_text("".join(lines[begin:end]))
        # Spark takes files by their time, and those of one tick of the clock in any order.
        os.utime(file, (number, number))
        begin = end
    (folder / "side_input.csv").write_bytes((data / "side_input.csv").read_bytes())
    return folder


def expected() -> dict[str, tuple[int, str]]:
    rows = RECORDED.read_text(encoding="utf-8").splitlines()[1:]
    return {name: (int(count), digest) for name, count, digest in (row.split("\t") for row in rows)}


def prepared(name: str, data: Path) -> tuple[TableEnvironment, Relation]:
    """An environment with the tables, and the query's relation."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for statement in parse_script(text(name, data, "'connector' = 'blackhole'")):
        if isinstance(statement, st.Insert):
            return env, env._session.insert(statement).input
        env._runner.run(statement)
    raise AssertionError(f"{name} has no INSERT")


def materialized(changes: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    rows: Counter[tuple[Any, ...]] = Counter()
    for kind, *values in changes:
        rows[tuple(values)] += -1 if kind & 1 else 1
    assert min(rows.values(), default=0) >= 0, "a row was taken back that was never there"
    return list(rows.elements())


def digest(fields: Sequence[Field], rows: Iterable[Sequence[Any]]) -> tuple[int, str]:
    """The canonical form's number of rows and checksum."""
    writers = [_decimal if isinstance(f.type, DecimalType) else writer(f.type) for f in fields]
    lines = []
    for row in rows:
        out = io.StringIO()
        values = zip(row, writers, strict=True)
        csv.writer(out, lineterminator="").writerow(
            ["" if value is None else write(value) for value, write in values]
        )
        lines.append(out.getvalue())
    lines.sort(key=str.encode)
    head = ",".join(field.name for field in fields)
    return len(lines), hashlib.sha256(("\n".join([head, *lines]) + "\n").encode()).hexdigest()


def _decimal(value: Any) -> str:
    return str(value.normalize())
