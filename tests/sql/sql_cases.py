"""Runs cases of SQL in process: tables with rows, a statement, the changelog it must give."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any

from headrace.connectors.tables import register_connector
from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch
from headrace.memory.inputs import micro_batches
from headrace.plan.planner import plan
from headrace.sql import statements as st
from headrace.sql.parse_statements import parse_statement
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment
from headrace.testing import JobOutput
from tests.cases import loading as own
from tests.sql.values_connector import PHASE, ValuesConnector

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "conformance"
_VALUES = ValuesConnector()
_START = 1_000_000_000_000
_HOUR, _SECONDS = 3_600_000, 5_000


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of our own, and those beside the repository if they are there."""
    return [*own.cases(name), *beside(f"{name}_cases.json")]


def beside(file: str) -> list[dict[str, Any]]:
    path = FOLDER / file
    return json.loads(path.read_text())["cases"] if path.exists() else []


def environment(case: dict[str, Any], per_record: bool = True) -> TableEnvironment:
    register_connector(_VALUES)
    batch = case["mode"] == "batch"
    env = TableEnvironment.create(
        EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    )
    env._env.set_parallelism(1)
    env._env.get_config().set_auto_watermark_interval(0)
    for key, value in (case.get("config") or {}).items():
        env.get_config().set(key, value)
    env.get_config().set("headrace.table.changes", "record" if per_record else "micro-batch")
    _VALUES.tables.clear()
    sinks = [case["sink"]] if case.get("sink") else []
    for table in (*case["tables"], *sinks):
        _VALUES.tables[table["name"]] = table
        partition = ""
        if table.get("partition_keys"):
            partition = f"PARTITIONED BY ({', '.join(table['partition_keys'])})"
        env.execute_sql(
            f"CREATE TABLE `{table['name']}` ({', '.join(table['schema'])}) {partition} "
            f"WITH ('connector' = 'values', 'data-id' = '{table['name']}')"
        )
    for text in case.get("setup_sql") or ():
        env.execute_sql(text)
    return env


def lines(
    case: dict[str, Any], *, per_record: bool = True, crash: bool = False,
    last_step: int = _SECONDS, at_once: bool = False,
) -> list[str]:  # fmt: skip
    """The changes the case's statement gives, as text; `at_once`: in one micro-batch."""
    env = environment(case, per_record)
    statement = parse_statement(case["sql"])
    if isinstance(statement, st.Query):
        relation = env._session.query(statement.tree)
        if case.get("sink"):
            insert = env._session.written(relation, (case["sink"]["name"],))
        else:
            return _collected(env, relation, crash, case, at_once)
    else:
        insert = env._session.insert(statement)
    env._execution.lower(env._execution.optimized(insert))
    return _run(env, crash, case, last_step, at_once).printed


def _run(
    env: TableEnvironment, crash: bool, case: dict[str, Any], last_step: int = _SECONDS,
    at_once: bool = False,
) -> JobOutput:  # fmt: skip
    """Each row is a micro-batch, in BATCH mode all of them; before the rows after the restore the
    clock moves on an hour."""
    settings = env._env._graph_settings()
    graph = env._env.builder.peek("case", **settings)
    # Uids follow from meanings: these must be the same in every process.
    assert not any(" at 0x" in node.meaning for node in graph)
    physical = plan(graph)
    output = JobOutput(physical)
    clock = ManualClock(_START)
    engine = MemoryEngine(physical, output.handle, clock=clock)
    inputs = [micro_batches(vertex) for vertex in physical.sources]
    ids = [vertex.id for vertex in physical.sources]
    firsts = [len(table["rows"]) for table in case["tables"]]
    PHASE[0] = 0
    if physical.batch or at_once:
        inputs = [[[each for part in batches for each in part]] for batches in inputs]
    for number, batches in enumerate(zip_longest(*inputs, fillvalue=[])):
        if number == max(firsts, default=0):
            clock.advance_to(clock() + _HOUR)
            engine.run(MicroBatch())
            PHASE[0] = 1
        engine.run(MicroBatch(dict(zip(ids, batches, strict=True))))
        if crash:
            engine = MemoryEngine(physical, output.handle, clock=clock, snapshot=engine.snapshot())
    clock.advance_to(clock() + last_step)
    engine.run(MicroBatch())
    if "after_restore_source" not in case:
        engine.run(MicroBatch(final=True))
    engine.close()
    output.end()
    return output


def _collected(
    env: TableEnvironment, relation: Any, crash: bool, case: dict[str, Any], at_once: bool
) -> list[str]:
    from headrace.connectors.tables.sinks import PrintRows
    from headrace.core.logical_types import RowType
    from headrace.graph.nodes import SinkNode

    execution = env._execution
    node = execution.lower(execution.optimized(relation))
    env._env.builder.add(
        SinkNode, "out", (node,), operator=PrintRows(RowType(relation.schema), None, False)
    )
    return _run(env, crash, case, at_once=at_once).printed


def materialized(changes: list[str], key: list[int] | None = None) -> Counter[str]:
    """The rows that are there after all changes."""
    rows: Counter[str] = Counter()
    by_key: dict[Any, str] = {}
    for change in changes:
        kind, text = change[:2], change[2:]
        if key is not None:
            fields = _fields(text)
            name = tuple(fields[at] for at in key)
            if kind in ("+I", "+U"):
                by_key[name] = text
            elif kind == "-D":
                by_key.pop(name, None)
        elif kind in ("+I", "+U"):
            rows[text] += 1
        else:
            rows[text] -= 1
    return Counter(by_key.values()) if key is not None else +rows


def _fields(text: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for char in text[1:-1]:
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()]


def sink_key(case: dict[str, Any]) -> list[int] | None:
    """The sink's primary key by position."""
    names = []
    key = None
    for part in (case.get("sink") or {}).get("schema", ()):
        found = re.match(r"(?i)\s*(?:constraint\s+\S+\s+)?primary key\s*\(([^)]*)\)", part)
        if found:
            key = [name.strip(" `") for name in found[1].split(",")]
            continue
        name = re.match(r"\s*(`[^`]+`|\S+)", part)[1].strip("`")
        names.append(name)
        if re.search(r"(?i)primary key", part):
            key = [name]
    return None if key is None else [names.index(name) for name in key]


def expected(case: dict[str, Any]) -> list[str]:
    every = [*(case.get("expected") or ()), *(case.get("expected_after_restore") or ())]
    return [normal(line) for line in every]


def normal(text: str) -> str:
    """Times always with seconds, dates and times with a blank between them."""
    text = re.sub(r"(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)Z", r"\1", text).replace("(NULL)", "null")
    text = re.sub(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)", r"\1 \2", text)
    return re.sub(r"(\d{4}-\d\d-\d\d \d\d:\d\d)(?=[^:\d]|$)", r"\1:00", text)


def verdict(case: dict[str, Any], got: list[str]) -> str | None:
    """None if the changelog is right; otherwise what is wrong."""
    got = [normal(line) for line in got]
    if "expected_table" in case:
        want = Counter(
            normal(f"[{', '.join(map(_cell, row))}]") for row in case["expected_table"]["rows"]
        )
        have = materialized(got)
        return None if want == have else f"want {dict(want)}\nhave {dict(have)}"
    key = sink_key(case)
    wanted = expected(case)
    if Counter(wanted) == Counter(got):
        return None
    targets = [materialized(wanted, key), materialized(wanted)]
    if case.get("expected_materialized"):
        targets.append(materialized(case["expected_materialized"]))
    have = materialized(got, key)
    if have in targets or materialized(got) in targets:
        return None
    return f"want {wanted}\nhave {got}"


def is_met(case: dict[str, Any], crash: bool = False, per_record: bool = True) -> str | None:
    """Run a case; what is wrong. By the clock a second time, with more time after the last row."""
    wrong = verdict(case, lines(case, crash=crash, per_record=per_record))
    if wrong is not None and any("wall clock" in tag for tag in case.get("tags", ())):
        got = lines(case, crash=crash, per_record=per_record, last_step=_HOUR)
        wrong = verdict(case, got)
    return wrong


def _cell(value: Any) -> str:
    return "null" if value is None else str(value)
