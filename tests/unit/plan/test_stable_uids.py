"""Generated uids are the same whenever and wherever the same program is planned."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.jobs.stateful_uids import warn_of_missing_uids
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.testing import ScriptedSource

_PRINT_UIDS = """
import json
from tests.unit.plan.test_stable_uids import uids
print(json.dumps(uids()))
"""


def planned(*, extra: bool = False, **uid_of: str) -> PhysicalPlan:
    env = StreamExecutionEnvironment()
    env.set_parallelism(2)
    numbers = env.from_collection([1, 2, 3])
    if extra:
        numbers.map(lambda n: -n).print()
    counted = numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b).name("sums")
    if "sums" in uid_of:
        counted.uid(uid_of["sums"])
    again = numbers.key_by(lambda n: n % 3).reduce(lambda a, b: a + b).name("sums")
    counted.union(again).map(str).print()
    return plan(env.builder.peek("uids", **env._graph_settings()))


def uids(**options: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for vertex in planned(**options).vertices.values():
        found.setdefault(vertex.name, []).append(vertex.uid)
    return found


def test_another_process_finds_the_same(repository: Any) -> None:
    told = subprocess.run(
        [sys.executable, "-c", _PRINT_UIDS], cwd=repository, capture_output=True, text=True,
        check=True, env={"PYTHONHASHSEED": "7", "PYTHONPATH": f"{repository}/src:{repository}"},
    )  # fmt: skip
    assert json.loads(told.stdout) == uids()


def test_all_differ_and_an_operator_elsewhere_changes_none() -> None:
    mine, with_extra = uids(), uids(extra=True)
    assert len(set(mine["sums"])) == 2
    assert with_extra["sums"] == mine["sums"]


def test_the_parallelism_changes_none() -> None:
    env = StreamExecutionEnvironment()
    env.from_collection([1]).key_by(lambda n: n).reduce(lambda a, b: a).print()
    found = [
        [vertex.uid for vertex in plan(env.builder.peek("", **{**env._graph_settings(),
         "parallelism": parallelism})).vertices.values()] for parallelism in (1, 2, 7)
    ]  # fmt: skip
    assert found[0] == found[1] == found[2]


def test_a_warning_names_stateful_operators_without_uid(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace"):
        warn_of_missing_uids(planned())
    [message] = caplog.messages
    assert message.count("'sums'") == 2
    assert "test_stable_uids.py" in message
    assert ".uid(...)" in message
    assert "'Map'" not in message


def test_no_warning_where_all_have_uids(caplog: pytest.LogCaptureFixture) -> None:
    env = StreamExecutionEnvironment()
    env.from_collection([1]).key_by(lambda n: n).reduce(lambda a, b: a).uid("sum").print()
    warn_of_missing_uids(plan(env.builder.peek("", **env._graph_settings())))
    assert caplog.messages == []


def test_the_uid_of_a_source_with_a_strategy_is_the_source_s() -> None:
    """Flink has one operator there; under its uid the position of the source is kept."""
    env = StreamExecutionEnvironment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1))
    stream = env.from_source(ScriptedSource([[1]]), strategy, "numbers")
    stream.uid("numbers").name("all numbers").set_parallelism(3).print()
    physical = plan(env.builder.peek("", **env._graph_settings()))
    [source] = physical.sources
    assert (source.uid, source.name, source.parallelism) == ("numbers", "all numbers", 3)
    assigner = physical.vertices[source.edges[0].target]
    assert (assigner.uid, assigner.parallelism, assigner.level) == ("numbers: timestamps", 3, 0)
    assert stream.get_name() == "all numbers"
