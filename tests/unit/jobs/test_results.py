"""What goes to the driver is handed over once, when its micro-batch is checkpointed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.datastream import CloseableIterator, StreamExecutionEnvironment
from headrace.jobs.journal import CommitJournal
from headrace.jobs.results import JobResults
from headrace.plan.planner import plan
from headrace.runtime.driver_items import COUNTS, LOAD
from headrace.runtime.flow.checkpoint import CheckpointId
from headrace.runtime.flow.load import Spent
from headrace.spark.file_store import LocalStore


class Program:
    """A job that prints, as one process has it."""

    def __init__(self, folder: Path | None = None):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).print()
        planned = plan(env.builder.take("job", **env._graph_settings()))
        [self.vertex] = [vertex.id for vertex in planned.vertices.values() if vertex.is_sink]
        self.printed: list[str] = []
        journal = CommitJournal(None if folder is None else LocalStore(folder))
        self.results = JobResults(planned, print_line=self.printed.append, journal=journal)

    def runs(self, batch: int, *lines: str) -> None:
        items: list[Any] = [(self.vertex, 0, "print", list(lines))] if lines else []
        self.results.handle(batch, items)


def test_nothing_is_printed_before_the_commit_log_has_the_batch() -> None:
    program = Program()
    program.runs(0, "a", "b")
    assert program.printed == []
    program.results.commits.commit_upto(0)
    assert program.printed == ["a", "b"]


def test_a_batch_that_runs_again_is_printed_once() -> None:
    program = Program()
    program.runs(0, "a")
    program.results.commits.recover(None)  # its commit failed: the job starts again
    program.runs(0, "A")
    program.results.commits.commit_upto(0)
    program.results.commits.recover(CheckpointId(0, 0))
    assert program.printed == ["A"]


def test_a_program_that_died_prints_what_it_had_still_to_print(tmp_path: Path) -> None:
    before = Program(tmp_path)
    before.results.commits.recover(None, 1)
    before.runs(0, "a")
    before.results.commits.commit_upto(0)
    before.runs(1)
    before.results.commits.commit_upto(1)
    before.runs(2, "c")
    before.runs(3, "d")
    after = Program(tmp_path)
    after.results.commits.recover(CheckpointId(2, 1), 2)
    assert after.printed == ["c"]
    assert LocalStore(tmp_path).names() == []


def test_how_busy_operators_are() -> None:
    program = Program()

    def heard(subtask: int, spent: Spent) -> None:
        counts = {"incarnation": "1", "records_in": 0, "records_out": 0, "watermark": 0,
                  "metrics": {}, "accumulators": {}, LOAD: spent}  # fmt: skip
        program.results.show([(program.vertex, subtask, COUNTS, counts)])

    assert program.results.loads() == {}
    heard(0, Spent(busy=1.0, idle=9.0))
    heard(0, Spent(busy=1.5, backpressured=0.3, idle=9.2))
    heard(1, Spent(busy=0.1, idle=0.9))
    (load,) = program.results.loads().values()
    assert (round(load.busy, 2), round(load.backpressured, 2)) == (0.5, 0.3)
    assert round(load.idle, 2) == 0.2
    assert str(load).endswith("50% busy, 30% backpressured, 20% idle")
    heard(0, Spent(busy=0.9, idle=0.1))  # it was started anew
    (load,) = program.results.loads().values()
    assert round(load.busy, 2) == 0.9


def test_what_was_collected_without_a_checkpoint_is_remembered() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    planned = plan(env.builder.take("job", **env._graph_settings()))
    [vertex] = [vertex.id for vertex in planned.vertices.values() if vertex.is_sink]
    records = CloseableIterator()
    results = JobResults(planned, {vertex: records})
    results.handle(0, [(vertex, 0, "collect", [1])])
    results.commits.commit_upto(0)
    assert (next(records), results.gave_records) == (1, False)
    results.show([(vertex, 0, "collect", [2])])
    assert (next(records), results.gave_records) == (2, True)
