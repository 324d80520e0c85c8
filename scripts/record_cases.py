"""Asks Flink what the cases of tests/cases/ and the Nexmark queries give, and writes it down.

Run by PyFlink's interpreter: .peer-venv/bin/python scripts/record_cases.py [part[:text]...]
Of a part such as `queries` or `examples` only what has the text in its name is recorded, if any.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyflink
from pyflink.table import EnvironmentSettings, TableEnvironment

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.nexmark import generator  # noqa: E402
from bench.nexmark.queries import NAMES, text  # noqa: E402
from tests.cases.checksums import digest  # noqa: E402
from tests.cases.loading import (  # noqa: E402
    EXPECTED,
    FOLDER,
    Case,
    pattern_events,
    stream_cases,
    written,
)

QUERIES = ("sql", "match_recognize", "functions")
NEXMARK = FOLDER / "nexmark.tsv"
NEXMARK_EVENTS = 10_000
_STREAMED = ("q11",)
"""Sessions are had in streaming mode only."""
_BY_THE_CLOCK = ("q12",)
_OPENED = ["--add-opens=java.base/java.util=ALL-UNNAMED",
           "--add-opens=java.base/java.lang=ALL-UNNAMED"]  # fmt: skip
_OPERATIONS = {"+I": "c", "+U": "u", "-D": "d"}


def main() -> None:
    parts = {
        "queries": record_queries, "streams": record_streams, "nexmark": record_nexmark,
        "examples": record_examples, "names": record_names,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as work:
        for name in sys.argv[1:] or parts:
            part, _, only = name.partition(":")
            parts[part](Path(work), only)


def environment(mode: str) -> TableEnvironment:
    settings = EnvironmentSettings.in_batch_mode()
    if mode == "streaming":
        settings = EnvironmentSettings.in_streaming_mode()
    env = TableEnvironment.create(settings)
    # One subtask and a watermark after each row: so nothing depends on chance.
    options = {"parallelism.default": "1", "pipeline.auto-watermark-interval": "0",
               "table.local-time-zone": "UTC"}  # fmt: skip
    for key, value in options.items():
        env.get_config().set(key, value)
    return env


def record_queries(work: Path, only: str) -> None:
    found: dict[str, list[str]] = {}
    failed = []
    for case in (case for name in QUERIES for case in written(name) if only in case["id"]):
        try:
            found[case["id"]] = changes(case, work)
        except Exception as error:  # a case that Flink refuses is to be changed
            failed.append(f"{case['id']}: {first_line(error)}")
    note(found)
    print("\n".join(failed))


def note(found: dict[str, list[str]]) -> None:
    """Write results down beside those of other cases."""
    known = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    every = {**known, **found}
    EXPECTED.write_text(json.dumps(every, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(found)} cases recorded")


def changes(case: Case, work: Path) -> list[str]:
    """What a case's query gives, in Flink's own words."""
    env = environment(case["mode"])
    for table in case["tables"]:
        env.execute_sql(definition(table, work))
    rows = env.execute_sql(case["sql"])._j_table_result.collect()
    lines = []
    while rows.hasNext():
        lines.append(plain_zeros(str(rows.next().toString())))
    return lines


def plain_zeros(line: str) -> str:
    """Java writes a zero with many digits as 0E-14, SQL does not."""
    return re.sub(r"(?<![\w.])0E-(\d+)(?!\w)", lambda found: "0." + "0" * int(found[1]), line)


def definition(table: Case, work: Path) -> str:
    """A file with the table's rows, and the statement that makes it a table."""
    names = [re.match(r"\w+", part)[0] for part in table["schema"]
             if not part.startswith(("WATERMARK", "PRIMARY"))]  # fmt: skip
    changing = any(row["kind"] != "+I" for row in table["rows"])
    file = work / f"{table['name']}.json"
    lines = envelopes(table["rows"], names) if changing else plain(table["rows"], names)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    form = "debezium-json" if changing else "json"
    return (
        f"CREATE TABLE {table['name']} ({', '.join(table['schema'])}) WITH ("
        f"'connector' = 'filesystem', 'path' = '{file}', 'format' = '{form}')"
    )


def plain(rows: list[Case], names: list[str]) -> Iterator[Case]:
    return (dict(zip(names, row["row"], strict=True)) for row in rows)


def envelopes(rows: list[Case], names: list[str]) -> Iterator[Case]:
    """As a database's log tells changes: an old row and the new one together."""
    old: Case | None = None
    for row in rows:
        values = dict(zip(names, row["row"], strict=True))
        if row["kind"] == "-U":
            old = values
            continue
        before, after = (values, None) if row["kind"] == "-D" else (old, values)
        yield {"before": before, "after": after, "op": _OPERATIONS[row["kind"]]}
        old = None


def first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "Exception: " in line]
    return (causes or lines or ["?"])[-1][:300]


def record_streams(work: Path, only: str) -> None:
    """Windows and patterns, which Flink has in Java only or whose time Python cannot steer."""
    libraries = f"{Path(pyflink.__file__).parent / 'lib'}/*"
    patterns = [{**case, "events": pattern_events(case)} for case in stream_cases("cep")]
    cases = [case for case in stream_cases("windows") + patterns if only in case["id"]]
    given, told = work / "streams.json", work / "told.json"
    given.write_text(json.dumps(cases), encoding="utf-8")
    judge = ROOT / "scripts" / "CaseJudge.java"
    subprocess.run(["javac", "-nowarn", "-cp", libraries, "-d", work, judge], check=True)
    path = f"{work}:{libraries}"
    subprocess.run(["java", *_OPENED, "-cp", path, "CaseJudge", given, told], check=True)
    note(json.loads(told.read_text(encoding="utf-8")))


def record_examples(work: Path, only: str) -> None:
    """What the scripts print."""
    for script in sorted((FOLDER / "examples").glob(f"*{only}*.py")):
        command = [sys.executable, str(script)]
        done = subprocess.run(command, cwd=work, check=True, text=True, stdout=subprocess.PIPE)
        script.with_suffix(".out").write_text(done.stdout, encoding="utf-8")
        print(f"{script.name}: {done.stdout.count(chr(10))} lines")


def record_names(work: Path, only: str) -> None:
    """The functions that Flink has built in."""
    names = sorted(environment("batch").list_functions())
    (FOLDER / "function_names.txt").write_text("\n".join(names) + "\n", encoding="utf-8")


def record_nexmark(work: Path, only: str) -> None:
    data = work / "nexmark"
    generator.write(data, NEXMARK_EVENTS)
    lines = ["query\trows\tsha256"]
    for name in NAMES:
        if name not in _BY_THE_CLOCK:
            header, rows = answers(name, data)
            count, checksum = digest(header, rows)
            lines.append(f"{name}\t{count}\t{checksum}")
            print(lines[-1])
    NEXMARK.write_text("\n".join(lines) + "\n", encoding="utf-8")


def answers(name: str, data: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of a query's columns, and the rows there are in the end."""
    env = environment("streaming" if name in _STREAMED else "batch")
    script = text(name, data, "'connector' = 'blackhole'")
    statements = [part.strip() for part in script.split(";\n") if part.strip()]
    for statement in statements[:-1]:
        env.execute_sql(statement)
    query = re.sub(r"^.*?INSERT INTO answers\s", "", statements[-1], flags=re.DOTALL).rstrip(";")
    header = env.from_path("answers").get_schema().get_field_names()
    rows: Counter[tuple[Any, ...]] = Counter()
    with env.execute_sql(query).collect() as found:
        for row in found:
            rows[tuple(row)] += -1 if row.get_row_kind().value % 2 else 1
    return header, list(rows.elements())


if __name__ == "__main__":
    main()
