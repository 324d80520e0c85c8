"""Jobs that are stopped after a number of micro-batches and resumed at another parallelism.

A stopped job's sources give so many of their lists and then wait, so nothing is under way when the
job is cancelled; in the last run they give the rest and end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headrace.core.job_status import JobStatus
from headrace.core.source import Boundedness, Split, SplitEnumerator, SplitSpec
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.nodes import Graph, Node, SourceNode
from headrace.jobs.client import JobClient
from headrace.jobs.launcher import launch
from headrace.plan.planner import plan
from headrace.testing import ScriptedSource
from tests.spark.conftest import wait_until

Stop = tuple[int, int | None]
"""The parallelism of a run, and up to which list it reads; None: to the end."""
STOPS: tuple[Stop, ...] = ((2, 3), (5, 4), (1, 6), (3, None))
_BEFORE = 2
"""Empty lists before the script, so that there are three checkpoints when its first list is
through."""


class Gated(ScriptedSource):
    """A script that is read up to some list, as if more might come; without a limit, to its end."""

    def __init__(self, script: ScriptedSource, upto: int | None):
        lists = [[]] * _BEFORE + script._batches
        super().__init__(lists, timestamp=script._timestamp, type_info=script._type)
        self.upto = upto

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self.upto is None else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        lists = len(self._batches)
        return _UpTo(lists if self.upto is None else min(self.upto, lists))


class _UpTo(SplitEnumerator):
    def __init__(self, limit: int):
        self._limit = limit

    def splits(self) -> list[Split]:
        return [Split("script")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return max(int(start), min(int(start) + 1, self._limit))


def gated(graph: Graph, upto: int | None) -> Graph:
    """The graph with a gate at every source that is a script."""

    def changed(node: Node) -> Node:
        if isinstance(node, SourceNode) and isinstance(node.spec, SplitSpec) and \
                isinstance(node.spec.source, ScriptedSource):  # fmt: skip
            return replace(node, spec=SplitSpec(Gated(node.spec.source, upto)))
        return node

    return replace(graph, nodes={id: changed(node) for id, node in graph.nodes.items()})


def start(env: StreamExecutionEnvironment, graph: Graph, parallelism: int) -> JobClient:
    return launch(plan(replace(graph, parallelism=parallelism)), env._job_settings())


def run_with_stops(
    env: StreamExecutionEnvironment, graph: Graph, stops: Iterable[Stop] = STOPS
) -> None:
    """Run a job to its end, in as many runs as there are stops."""
    env.enable_checkpointing(20)
    done = 0
    for parallelism, upto in stops:
        client = start(env, gated(graph, upto), parallelism)
        try:
            if upto is None:
                client.get_job_execution_result().result(180)
            else:
                wait_for_checkpoints(client, upto - done)
                done = upto
        finally:
            client.cancel().result(60)


def wait_for_checkpoints(client: JobClient, checkpoints: int) -> None:
    """Wait until so many are complete; a failure of the job fails the test."""
    history = client.get_checkpoints()

    def there() -> bool:
        if client._status() is JobStatus.FAILED:
            client.get_job_execution_result().result(1)
        return history.counts().completed >= checkpoints

    wait_until(there, 120)
