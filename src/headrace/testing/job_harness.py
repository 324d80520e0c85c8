"""Running a whole job in this process."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest
from typing import Any

from headrace.core.output_tag import OutputTag
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.jobs.results import JobResults
from headrace.jobs.watermarks import OperatorTime
from headrace.memory.clock import ManualClock
from headrace.memory.engine import DriverItem, MemoryEngine, MicroBatch
from headrace.memory.inputs import micro_batches
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.testing.recordings import Record, Recordings
from headrace.testing.taps import tapped, with_recorder

__all__ = ["JobHarness", "JobOutput"]


class JobOutput:
    """What a job gave."""

    def __init__(self, plan: PhysicalPlan):
        self.printed: list[str] = []
        """The lines of print() sinks."""
        self._recordings = Recordings()
        self._results = JobResults(plan, print_line=self.printed.append)

    def handle(self, batch_id: int, items: list[DriverItem]) -> None:
        self._recordings.take_in(items)
        self._results.handle(batch_id, items)
        self._results.commits.commit_upto(batch_id)

    def end(self) -> None:
        """Nothing more comes: sinks finish what they have."""
        self._results.commits.tick(final=True)
        self._results.commits.close()

    @property
    def values(self) -> list[Any]:
        """The records of the stream that was run."""
        return [value for value, _ in self.records]

    @property
    def records(self) -> list[Record]:
        """The same, each with its timestamp."""
        return self._recordings.records

    def side_output(self, tag: OutputTag | str) -> list[Any]:
        """What the job's operators sent to a tag, whether or not the job reads it."""
        return self._recordings.side(tag)

    def accumulators(self) -> dict[str, Any]:
        """The results of the accumulators, by name."""
        return self._results.accumulators()

    def watermarks(self) -> list[OperatorTime]:
        """How far event time came for each operator, and what held it back."""
        return self._results.watermarks()

    def metrics(self) -> dict[str, dict[str, Any]]:
        """The metrics functions counted, by operator."""
        return self._results.metrics()


class JobHarness:
    """Runs jobs in this process: no Spark, the same operators, the same results.

    `tick` is how many milliseconds processing time advances with each micro-batch.
    """

    def __init__(self, *, processing_time: int = 0, tick: int = 0):
        self._start = processing_time
        self._tick = tick

    def run(
        self, target: DataStream | StreamExecutionEnvironment, *, batches: Sequence[int] = (),
        crash_after: Collection[int] = (),
    ) -> JobOutput:  # fmt: skip
        """Run a stream, or all that an environment would execute, to the end of its sources.

        `batches` says how many records of each collection or file go into the first micro-batches;
        the rest follows in one more. After the micro-batches numbered in `crash_after` (from 1)
        everything but the state is thrown away.
        """
        physical = _plan(target)
        files = _environment(target)._job_settings().dependencies.cached_files
        output = JobOutput(physical)
        watched = tapped(physical)
        engine = MemoryEngine(watched, output.handle, clock=ManualClock(self._start), files=files)
        for batch in _micro_batches(watched, batches):
            engine.clock.advance_to(engine.clock() + self._tick)
            engine.run(batch)
            if engine.batches in crash_after:
                state = engine.snapshot()
                engine = MemoryEngine(watched, output.handle, snapshot=state, files=files)
        engine.close()
        output.end()
        return output


def _micro_batches(plan: PhysicalPlan, sizes: Sequence[int]) -> list[MicroBatch]:
    sources = [vertex.id for vertex in plan.sources]
    inputs = [micro_batches(vertex, sizes) for vertex in plan.sources]
    batches = [MicroBatch(dict(zip(sources, records, strict=True)))
               for records in zip_longest(*inputs, fillvalue=[])]  # fmt: skip
    if len(batches) > 1 or not batches:
        # A stream learns only after its last records that they were the last.
        batches.append(MicroBatch())
    batches[-1].final = True
    return batches


def _plan(target: DataStream | StreamExecutionEnvironment) -> PhysicalPlan:
    env = _environment(target)
    if isinstance(target, StreamExecutionEnvironment):
        return plan(env.builder.peek("harness", **env._graph_settings()))
    graph = env.builder.view("harness", [target.node_id], **env._graph_settings())
    return plan(with_recorder(graph, target.node_id))


def _environment(target: DataStream | StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    if isinstance(target, StreamExecutionEnvironment):
        return target
    return target.get_execution_environment()
