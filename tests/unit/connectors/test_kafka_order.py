"""Exactly once, records of a task are in the log in the order of their checkpoints, whatever
becomes of its transactions. Kafka is a fake one; tasks and the committer are the real ones."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headrace.common import SimpleStringSchema
from headrace.connectors.kafka import committer as committing
from headrace.connectors.kafka.transactions import MEMBERS, Prepared
from headrace.core.operator import TaskInfo
from headrace.core.sink import Committer, SinkWriter
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from tests.unit.connectors.fake_kafka import FakeKafka, fake_kafka

__all__ = ["fake_kafka"]
TASKS = 2


def new_sink() -> KafkaSink:
    schema = KafkaRecordSerializationSchema.builder().set_topic("t")
    schema.set_value_serialization_schema(SimpleStringSchema())
    builder = KafkaSink.builder().set_bootstrap_servers("nowhere:1")
    builder.set_record_serializer(schema.build())
    builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    return builder.set_transactional_id_prefix("p").build()


class Line:
    """Lets knocks be in vain, for as long as `fails` says how."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.fails: str | None = None
        self._knock = committing._knock
        monkeypatch.setattr(committing, "_knock", self.knock)

    def knock(self, prepared: Prepared, *, commit: bool) -> bool:
        if self.fails == "nobody hears it":
            return False
        done = self._knock(prepared, commit=commit)
        return done and self.fails is None


class Job:
    """The tasks of a sink, whose records are numbers in order, and what is beside the driver."""

    def __init__(self, folder: Path, line: Line, tasks: int = TASKS):
        self.folder = folder
        self.line = line
        self.count = tasks
        self.checkpoint = 1
        self.complete = 0
        """The last checkpoint that is complete."""
        self.prepared: dict[int, list[Prepared]] = {}
        """What is not committed, by checkpoint."""
        self.written = dict.fromkeys(range(tasks), 0)
        self._written_at = {0: dict(self.written)}
        self.committer = self.new_committer()
        self.committer.recovered()
        self.begin_tasks()

    def begin_tasks(self) -> None:
        """New processes: nothing of the old ones is known to them."""
        self.sinks = {task: new_sink() for task in range(self.count)}
        self.writers: dict[int, SinkWriter[Any]] = {}

    def new_committer(self) -> Committer[Any]:
        made = new_sink().create_committer()
        assert made is not None
        made.open(TaskInfo("sink", "sink", parallelism=self.count, kept_folder=str(self.folder)))
        return made

    def write(self, task: int) -> None:
        if task not in self.writers:
            info = TaskInfo(
                "sink",
                "sink",
                kept_folder=str(self.folder),
                partition=task,
                batch_id=self.checkpoint,
            )
            self.writers[task] = self.sinks[task].create_writer(info)
        self.writers[task].write(f"{task} {self.written[task]}", None)
        self.written[task] += 1

    def write_all(self) -> None:
        for task in self.sinks:
            self.write(task)

    def barrier(self) -> None:
        """The end of a checkpoint, which waits for its commit."""
        made = [each for writer in self.writers.values() for each in writer.prepare_commit()]
        self.writers.clear()
        self.prepared[self.checkpoint] = pickle.loads(pickle.dumps(made))
        self._written_at[self.checkpoint] = dict(self.written)
        self.checkpoint += 1

    def commit(self, times: int = 1) -> None:
        """Commit the first that waits."""
        if self.prepared:
            self.complete = min(self.prepared)
            those = self.prepared.pop(self.complete)
            for _ in range(times):
                self.committer.commit(those)

    def tell(self, task: int) -> None:
        """A task hears of the last checkpoint that is committed."""
        self.sinks[task].notify_checkpoint_complete(self.complete)

    def round(self) -> None:
        """A checkpoint as it usually is."""
        self.write_all()
        self.barrier()
        self.write_all()
        self.commit()
        for task in self.sinks:
            self.tell(task)

    def die(self, last: int, *, driver: bool) -> None:
        """The tasks die, or all; the last checkpoint that is complete is known."""
        if driver:
            self.committer = self.new_committer()
        for number in sorted(self.prepared):
            those = self.prepared.pop(number)
            if number <= last:
                self.committer.recover(those)
            else:
                self.committer.abort(those)
        self.committer.recovered()
        self.complete = max(self.complete, last)
        self.checkpoint = self.complete + 1
        self.written = dict(self._written_at[self.complete])
        self.begin_tasks()

    def finish(self) -> None:
        self.write_all()
        self.barrier()
        while self.prepared:
            self.commit()

    def expected(self, task: int) -> list[str]:
        return [f"{task} {n}" for n in range(self.written[task])]


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(monkeypatch)


@pytest.fixture
def job(fake_kafka: FakeKafka, line: Line, tmp_path: Path) -> Job:
    return Job(tmp_path, line)


def check(job: Job, kafka: FakeKafka) -> None:
    """Each task's records are there, once and in order; no transaction is left open."""
    values = kafka.values()
    for task in job.sinks:
        assert [each for each in values if each.startswith(f"{task} ")] == job.expected(task)
    assert kafka.open == []


def doors(prepared: list[Prepared]) -> list[bool]:
    """For each: whether it waits in an open transaction."""
    return [each.door is not None for each in prepared]


class TestOneByOne:
    def test_usually_everything_goes_through_the_tasks(self, job, fake_kafka):
        for _ in range(2 * MEMBERS):
            job.round()
            job.barrier()
            assert all(doors(job.prepared[job.checkpoint - 1]))
            job.commit()
        job.finish()
        check(job, fake_kafka)

    def test_more_checkpoints_wait_than_there_are_producers(self, job, fake_kafka):
        """A producer is free again, but what waits without one goes first."""
        for _ in range(MEMBERS + 1):
            job.write_all()
            job.barrier()
        job.commit()
        job.tell(0)
        job.write_all()
        job.barrier()
        assert [any(doors(each)) for each in job.prepared.values()] == [True, True, False, False]
        job.finish()
        check(job, fake_kafka)

    @pytest.mark.parametrize("how", ["nobody hears it", "no word comes back"])
    def test_a_knock_in_vain(self, job, fake_kafka, line, how):
        job.write_all()
        job.barrier()
        job.write_all()
        line.fails = how
        job.commit()
        line.fails = None
        job.write_all()
        job.barrier()
        assert all(doors(job.prepared[2]))
        job.write_all()
        job.finish()
        check(job, fake_kafka)

    def test_a_transaction_that_is_lost_while_it_waits(self, job, fake_kafka):
        job.write_all()
        job.barrier()
        job.write_all()
        for id in [each.transactional_id for each in job.prepared[1]]:
            fake_kafka.lose(id)
        job.barrier()
        job.finish()
        check(job, fake_kafka)

    def test_after_that_tasks_write_themselves_again(self, job, fake_kafka):
        """In the middle of a checkpoint, as soon as they hear that nothing is left to write."""
        job.round()
        for id in list(fake_kafka.open):
            fake_kafka.lose(id)
        job.round()
        for _ in range(2):
            job.round()
            job.barrier()
            found = doors(job.prepared[job.checkpoint - 1])
            job.commit()
        assert all(found)
        job.finish()
        check(job, fake_kafka)

    def test_several_checkpoints_in_one_list(self, job, fake_kafka):
        """They are written one after the other, though tasks are beside each other."""
        for _ in range(MEMBERS + 3):
            job.write_all()
            job.barrier()
        those = [each for one in job.prepared.values() for each in one]
        job.prepared.clear()
        job.committer.commit(those[::-1])
        check(job, fake_kafka)

    def test_another_process_goes_on(self, job, fake_kafka):
        """In micro-batches, when nothing waits: what it writes is not taken for too early."""
        for id in ["p-0-0", "p-1-0"]:
            job.write_all()
            fake_kafka.lose(id)
            job.barrier()
            job.commit()
        job.begin_tasks()
        job.write_all()
        job.barrier()
        assert all(doors(job.prepared[3]))
        assert all(job.line.knock(each, commit=True) for each in job.prepared[3])
        job.commit()
        check(job, fake_kafka)

    @pytest.mark.parametrize("driver", [True, False])
    def test_killed_with_several_to_write(self, job, fake_kafka, driver):
        for _ in range(MEMBERS + 2):
            job.write_all()
            job.barrier()
        job.write_all()
        job.die(last=MEMBERS + 1, driver=driver)
        job.round()
        job.finish()
        check(job, fake_kafka)


@pytest.mark.parametrize("seed", range(60))
def test_in_any_order_of_events(job, fake_kafka, line, seed):
    """Writing, waiting, committing, hearing of it late or never, losing transactions, knocking in
    vain, dying."""
    random = Random(seed)
    for _ in range(60):
        line.fails = random.choice([None, None, "nobody hears it", "no word comes back"])
        task = random.randrange(TASKS)
        match random.randrange(12):
            case 0 | 1 | 2 | 3:
                job.write(task)
            case 4 | 5 | 6:
                job.barrier()
            case 7 | 8:
                job.commit(times=random.choice([1, 1, 2]))
            case 9:
                job.tell(task)
            case 10 if fake_kafka.open:
                fake_kafka.lose(random.choice(fake_kafka.open))
            case _ if random.random() < 0.2:
                waiting = [job.complete, *job.prepared]
                job.die(random.choice(waiting), driver=random.random() < 0.5)
    line.fails = None
    job.finish()
    check(job, fake_kafka)
