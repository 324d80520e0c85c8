"""All Nexmark queries on Spark: as a batch, and as a stream cut anywhere."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from bench.nexmark.queries import NAMES
from headrace.graph.nodes import SinkNode
from headrace.operators.sinks import CollectOperator
from tests.spark import nexmark
from tests.taken import Taken

pytestmark = pytest.mark.slow
# q12 counts by the clock: it has no right answer.
CHECKED = [name for name in NAMES if name != "q12"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nexmark.generate(tmp_path_factory.mktemp("nexmark"))


@pytest.fixture(scope="module")
def cuts(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark-cuts") / "data"
    return nexmark.cut(data, folder, 3, random.Random(11))


def native(name: str, data: Path) -> tuple[Any, list[Any]]:
    env, relation = nexmark.prepared(name, data)
    changes = Taken()
    execution = env._execution
    optimized = execution.optimized(relation)
    assert execution.choose([optimized]).native
    execution.frames().frame(optimized)
    execution.collect(relation, changes, name).get_job_execution_result().result()
    return relation.schema, nexmark.materialized(changes)


def streamed(name: str, data: Path) -> tuple[Any, list[Any]]:
    env, relation = nexmark.prepared(name, data)
    env._env.set_parallelism(2)
    env.get_config().set("headrace.stream.files-per-batch", "1")
    changes = Taken()
    node = env._execution.lower(env._execution.optimized(relation))
    sink = env._env.builder.add(SinkNode, "out", (node,), operator=CollectOperator())
    client = env._env.launch(name, {sink: changes})
    client.get_job_execution_result().result()
    return relation.schema, nexmark.materialized(changes)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", CHECKED)
def test_as_a_batch(name: str, data: Path) -> None:
    assert nexmark.digest(*native(name, data)) == nexmark.expected()[name]


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("name", CHECKED)
def test_as_a_stream_with_cuts(name: str, cuts: Path) -> None:
    assert nexmark.digest(*streamed(name, cuts)) == nexmark.expected()[name]
