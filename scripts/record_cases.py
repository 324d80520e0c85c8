"""Asks Flink what the queries of tests/cases/ give, and writes it down.

Run by PyFlink's interpreter: .peer-venv/bin/python scripts/record_cases.py [text]
With a text only the cases are recorded that have it in their names.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.cases.loading import EXPECTED, Case, written  # noqa: E402

QUERIES = ("sql", "match_recognize", "functions")
_OPERATIONS = {"+I": "c", "+U": "u", "-D": "d"}


def main() -> None:
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as work:
        record_queries(Path(work), only)


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


if __name__ == "__main__":
    main()
