"""Running a whole job in this process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from headrace.core.output_tag import OutputTag
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.jobs.results import JobResults
from headrace.jobs.watermarks import OperatorTime
from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch, OnItems
from headrace.memory.inputs import micro_batches
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.driver_items import DriverItem
from headrace.testing.recordings import Record, Recordings
from headrace.testing.taps import tapped, with_recorder

__all__ = ["JobHarness", "JobOutput"]


class JobOutput:
    """What a job gave."""

    def __init__(self, plan: PhysicalPlan):
        self.printed: list[str] = []
        """The lines of print() sinks."""
        self._plan = plan
        self._recordings = Recordings()
        self._results = JobResults(plan, print_line=self.printed.append)

    def handle(self, batch_id: int, items: list[DriverItem]) -> None:
        self._recordings.take_in(items)
        self._results.handle(batch_id, items)
        self._results.commits.commit_upto(batch_id)

    def handler_for(self, plan: PhysicalPlan) -> OnItems:
        """Takes the items of another plan of the same job, which may number its vertices anew."""
        ids = {vertex.uid: vertex.id for vertex in self._plan.vertices.values()}
        own = {vertex.id: ids[vertex.uid] for vertex in plan.vertices.values()}

        def handle(batch_id: int, items: list[DriverItem]) -> None:
            self.handle(batch_id, [(own.get(vertex, vertex), *rest) for vertex, *rest in items])

        return handle

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
        crash_after: Collection[int] = (), rescale_after: Mapping[int, int] | None = None,
    ) -> JobOutput:  # fmt: skip
        """Run a stream, or all that an environment would execute, to the end of its sources.

        `batches` says how many records of each collection or file go into the first micro-batches;
        the rest follows in one more. After the micro-batches numbered in `crash_after` (from 1)
        everything but the state is thrown away; after those in `rescale_after` the job is stopped
        and goes on with the parallelism given there.
        """
        physical = _plan(target)
        files = _environment(target)._job_settings().dependencies.cached_files
        output = JobOutput(physical)
        engine = MemoryEngine(
            tapped(physical), output.handle, clock=ManualClock(self._start), files=files
        )
        for batch in _micro_batches(physical, batches):
            engine.clock.advance_to(engine.clock() + self._tick)
            engine.run(_renumbered(batch, physical, engine.plan))
            if engine.batches in crash_after:
                engine = _resumed(engine, engine.plan, output, files)
            if engine.batches in (rescale_after or ()):
                engine.close()
                changed = _plan(target, (rescale_after or {})[engine.batches])
                engine = _resumed(engine, tapped(changed), output, files)
        engine.close()
        output.end()
        return output


def _resumed(
    engine: MemoryEngine, plan: PhysicalPlan, output: JobOutput, files: Mapping[str, str]
) -> MemoryEngine:
    return MemoryEngine(plan, output.handler_for(plan), snapshot=engine.snapshot(), files=files)


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


def _renumbered(batch: MicroBatch, old: PhysicalPlan, new: PhysicalPlan) -> MicroBatch:
    ids = {vertex.uid: vertex.id for vertex in new.sources}
    return replace(batch, records={ids[old.vertices[source].uid]: records
                                   for source, records in batch.records.items()})  # fmt: skip


def _plan(
    target: DataStream | StreamExecutionEnvironment, parallelism: int | None = None
) -> PhysicalPlan:
    env = _environment(target)
    settings = env._graph_settings()
    if parallelism is not None:
        settings["parallelism"] = parallelism
    if isinstance(target, StreamExecutionEnvironment):
        return plan(env.builder.peek("harness", **settings))
    graph = env.builder.view("harness", [target.node_id], **settings)
    return plan(with_recorder(graph, target.node_id))


def _environment(target: DataStream | StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    if isinstance(target, StreamExecutionEnvironment):
        return target
    return target.get_execution_environment()
