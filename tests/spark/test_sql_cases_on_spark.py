"""Cases whose results are Flink's on Spark: by key groups, and as one native query."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest

from headrace.core.logical_types import RowType
from headrace.core.table_values import change_text
from headrace.graph.relations import Insert
from headrace.spark.native import NotNative
from tests.cases.loading import one_set
from tests.spark.sql_case_jobs import Case, relation_of, run_together, with_frames
from tests.sql import sql_cases
from tests.sql.exceptions import EXCEPTIONS
from tests.sql.test_sql_cases import CASES
from tests.taken import Taken

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),  # the first case of a group waits for all of them
]
AT_ONCE = 60
BY_THE_CLOCK = {"prog/GroupAggregate/agg-with-state-ttl-hint": "its state expires in process only"}
_OF_A_KEY = "which row of a key is the last depends on when changes are told"
_OVER = "prog/OverWindow/over-aggregate-non-time"
OF_CHANGES = {
    "prog/ToChangelog/to-changelog-lag-on-upsert": "each change is a row of its result",
    f"{_OVER}-range-unbounded-sum-retract-mode-sink-primary-key": _OF_A_KEY,
    f"{_OVER}-rows-unbounded-sum-retract-mode-sink-primary-key": _OF_A_KEY,
}
"""Changes are told for each key, before the next watermark."""

FORGOTTEN = {
    "prog/Calc/calc-current-watermark": "an operator without state knows no earlier micro-batch"
}
"""CURRENT_WATERMARK is NULL there until the first watermark of a micro-batch."""


def not_here(case: Case) -> str | None:
    """Why a case is not run on Spark; all of these are run in process."""
    tags = case.get("tags", ())
    if case["id"] in EXCEPTIONS:
        return EXCEPTIONS[case["id"]]
    if case["id"] in BY_THE_CLOCK:
        return BY_THE_CLOCK[case["id"]]
    if any("wall clock" in tag for tag in tags):
        return "its result depends on the clock, which a test cannot set here"
    if "lookup source" in tags:
        return "its look-ups see other rows after a restore, and there is none here"
    if "after_restore_source" in case:
        return "it is stopped before the end of its input"
    return None


RUN = [case for case in one_set(CASES) if not_here(case) is None]
STREAMED = [case for case in RUN if case["mode"] == "streaming"][::3]
"""A third of the cases: a stream takes a micro-batch for each row. The others run as a batch of the
same operators, and all of them in process."""


@cache
def _group(mode: str, number: int, per_record: bool, parallelism: int) -> Any:
    chosen = STREAMED if mode == "stream" else RUN
    some = chosen[number * AT_ONCE : (number + 1) * AT_ONCE]
    try:
        return run_together(some, per_record=per_record, parallelism=parallelism)
    except Exception as error:  # remembered, so that it is not run again for each case
        return error


def changes(case: Case, mode: str, *, per_record: bool, parallelism: int) -> list[str]:
    """What a case gives; a few dozen of them are run together."""
    chosen = STREAMED if mode == "stream" else RUN
    found = _group(mode, chosen.index(case) // AT_ONCE, per_record, parallelism)
    if isinstance(found, Exception):
        raise found
    lines: list[str] = found[case["id"]]
    return lines


@pytest.mark.parametrize("case", RUN, ids=lambda case: case["id"])
def test_result_by_key_groups(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are one micro-batch, with a watermark after each."""
    if case["id"] in OF_CHANGES:
        pytest.skip(OF_CHANGES[case["id"]])
    if case.get("mode") == "batch":
        pytest.skip("only the last results count in BATCH mode, which has no watermarks")
    monkeypatch.setenv("HEADRACE_MODE", "batch")
    wrong = sql_cases.verdict(case, changes(case, "batch", per_record=False, parallelism=2))
    assert wrong is None, wrong


KEY_BROKEN = (
    "prog/OverWindow/over-aggregate-non-time-range-unbounded-sum-retract-mode-source-sink-primary",
    "prog/OverWindow/over-aggregate-non-time-rows-unbounded-sum-retract-mode-source-sink-primary",
)
"""Cases with several rows of one primary key: which of them is the last at the sink is chance, in
Flink as here, where two tasks give them."""


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case["id"])
def test_result_of_a_stream(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same with a micro-batch for each row."""
    if case["id"] in FORGOTTEN:
        pytest.skip(FORGOTTEN[case["id"]])
    monkeypatch.setenv("HEADRACE_MODE", "stream")
    slots = 1 if case["id"].startswith(KEY_BROKEN) else 2
    wrong = sql_cases.verdict(case, changes(case, "stream", per_record=False, parallelism=slots))
    assert wrong is None, wrong


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case["id"])
def test_changelog_of_a_stream(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record's changes: those of the engine in this process, to the last one."""
    if case["id"] in FORGOTTEN:
        pytest.skip(FORGOTTEN[case["id"]])
    monkeypatch.setenv("HEADRACE_MODE", "stream")
    got = changes(case, "stream", per_record=True, parallelism=1)
    assert Counter(got) == Counter(sql_cases.lines(case))


def append_only(case: Case) -> bool:
    return all(row["kind"] == "+I" for table in case["tables"] for name in
               ("rows", "rows_after_restore") for row in table.get(name, ()))  # fmt: skip


LATE = (
    "prog/WindowAggregate/window-aggregate-tumble", "prog/WindowAggregate/window-aggregate-hop",
    "prog/WindowAggregate/window-aggregate-cumulate", "prog/WindowJoin/",
    "prog/GroupWindowAggregate/group-window-aggregate-session-event-time",
    "prog/TemporalSort/temporal-sort-rowtime",
)  # fmt: skip
"""Cases with rows that come after the watermark: a native query has all rows at once."""
NATIVE = [case for case in RUN if append_only(case)]


def native_lines(case: Case) -> list[str]:
    env = sql_cases.environment(case, per_record=False)
    relation = relation_of(env, case)
    row = RowType(relation.schema)
    query = with_frames(relation)
    if isinstance(query, Insert):
        # Only for its checks: what the sink demands may be more than Spark can do.
        env._execution._write(env._execution.frames(), query)
        query = query.input
    rows = Taken()
    client = env._execution._collect_native(query, rows, case["id"])
    client.get_job_execution_result().result()
    return [change_text(each, row.types) for each in rows]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("case", NATIVE, ids=lambda case: case["id"])
def test_result_as_a_native_query(case: Case) -> None:
    if case["id"].startswith(LATE):
        pytest.skip("it has late rows, and none are late when all are there at once")
    if case["id"] in FORGOTTEN:
        pytest.skip("there are no watermarks when all rows are there at once")
    try:
        got = native_lines(case)
    except NotNative as reason:
        pytest.skip(f"by key groups: {reason}")
    wrong = sql_cases.verdict(case, got)
    assert wrong is None, wrong
