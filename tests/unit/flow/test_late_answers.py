"""Answers that come later leave when they are there, and nothing overtakes them that must not."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from headrace.common import Time, WatermarkStrategy
from headrace.core.async_functions import AsyncFunction, AsyncFunctionDescriptor
from headrace.core.exchange import Hash, Rebalance
from headrace.core.operator import Batch
from headrace.core.source import CollectionSpec
from headrace.datastream.async_retry_strategies import NO_RETRY_STRATEGY
from headrace.errors import UserFunctionFailed
from headrace.graph.nodes import Graph, OperatorNode, PartitionNode, SinkNode, SourceNode
from headrace.operators.async_wait import AsyncWaitOperator
from headrace.operators.sinks import CollectOperator
from headrace.operators.timestamps import TimestampsOperator
from headrace.plan.planner import plan
from headrace.runtime.driver_items import DriverItems
from headrace.runtime.envelope import MARK, Envelope, Item
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import Begin, TaskId
from headrace.runtime.flow.parcels import BARRIER, RECORDS, Barrier, Parcel
from headrace.runtime.flow.task import FlowTask

ORDERED = AsyncFunctionDescriptor.OutputMode.ORDERED
UNORDERED = AsyncFunctionDescriptor.OutputMode.UNORDERED


class Gated(AsyncFunction):
    """Answers a record when a test lets it."""

    def __init__(self) -> None:
        self.open_for: set[Any] = set()
        self.asked: list[Any] = []
        self.answered: set[Any] = set()

    async def async_invoke(self, value: Any) -> list[Any]:
        self.asked.append(value)
        while value not in self.open_for:
            await asyncio.sleep(0.001)
        self.answered.add(value)
        return [10 // value]


class Task:
    """A task of one async operator, and what it has let go of."""

    def __init__(self, mode: Any, capacity: int = 3):
        self.function = Gated()
        descriptor = AsyncFunctionDescriptor(
            self.function, Time.seconds(300), capacity, NO_RETRY_STRATEGY, mode
        )
        nodes = [
            SourceNode(id=1, name="source", spec=CollectionSpec(())),
            PartitionNode(id=2, name="deal", inputs=(1,), exchange=Rebalance()),
            OperatorNode(id=3, name="ask", inputs=(2,), operator=AsyncWaitOperator(descriptor)),
            PartitionNode(id=4, name="key", inputs=(3,), exchange=Hash(lambda v: v)),
            SinkNode(id=5, name="collect", inputs=(4,), operator=CollectOperator()),
        ]
        physical = plan(Graph("job", {node.id: node for node in nodes}, 1, 128, batch=False))
        self.level = FlowingLevel(physical, 1, 0, lambda: 0, tell=lambda item: None)
        self.level.open()
        self.level.time.expect_senders()
        self.flow = FlowTask(TaskId(1, 0), self.level, Begin(0, 1), self, DriverItems())  # type: ignore[arg-type]
        self.woken = threading.Event()
        self.level.answer_later(self.woken.set)
        self.flow.open()
        self.sent: list[Any] = []
        self._number = 0

    def send(self, message: Any) -> None:
        """What a task says to the driver."""

    def write(self, files: Any, then: Any) -> None:
        then()

    def give(self, kind: int, *items: Item, content: bytes | None = None) -> None:
        """Another task sends something."""
        made = Envelope(list(items)).encode() if content is None else content
        parcel = Parcel(kind, 0, self._number, checkpoint=1 if kind == BARRIER else 0, content=made)
        self._number += 1
        self._take(self.flow.arrive(parcel.encode()))

    def records(self, *values: int) -> None:
        [ask] = self.level.tasks
        self.give(RECORDS, (ask, 0, Batch(list(values), [100 + value for value in values])))

    def mark(self, watermark: int) -> None:
        self.give(RECORDS, (MARK, 0, {1: {"#1:0": (watermark, 1)}}))

    def barrier(self) -> None:
        self.give(BARRIER, content=Barrier().encode())

    def work(self) -> None:
        """Do what can be done without waiting."""
        while self.flow.has_work and not self.flow.awaits_answers:
            self._take(self.flow.work())

    def work_on(self) -> None:
        """Do all there is, and wait for answers if need be."""
        while self.flow.has_work:
            self._take(self.flow.work())

    def answer(self, *values: int) -> None:
        """Let records be answered, and what can leave leave."""
        self.woken.clear()
        self.function.open_for.update(values)
        assert self.woken.wait(60)
        while not self.function.answered.issuperset(values):
            time.sleep(0.001)
        self._after_what_the_loop_does_now()
        self._take(self.flow.emit_answers())
        assert not self.flow.has_answers
        self._take(self.flow.end_round())

    def asked(self) -> list[int]:
        """The records whose calls are open or done."""
        self._after_what_the_loop_does_now()
        self._after_what_the_loop_does_now()
        return self.function.asked

    def _after_what_the_loop_does_now(self) -> None:
        [ask] = self.level.tasks.values()
        ask.operator._loop_thread.call(lambda: None)

    def _take(self, rows: Any) -> None:
        for _, blob in rows:
            parcel = Parcel.decode(blob)
            if parcel.kind == BARRIER:
                self.sent.append("barrier")
                continue
            for vertex, _, content in Envelope.decode(parcel.content).records:
                self.sent += ["mark"] if vertex == MARK else content.values

    def close(self) -> None:
        self.level.close()


@pytest.mark.parametrize(("mode", "first"), [(ORDERED, []), (UNORDERED, [5, 3])])
def test_an_answer_leaves_when_it_is_there(mode, first):
    task = Task(mode, capacity=10)
    task.records(1, 2, 3)
    task.work()
    task.answer(2, 3)
    assert sorted(task.sent, reverse=True) == first
    task.answer(1)
    assert task.sent == ([10, 5, 3] if mode is ORDERED else [*task.sent[:2], 10])
    task.close()


@pytest.mark.parametrize("mode", [ORDERED, UNORDERED])
@pytest.mark.parametrize("follows", ["mark", "barrier"])
def test_marks_and_barriers_wait_for_answers_and_answers_do_not_wait_for_them(mode, follows):
    task = Task(mode)
    task.records(1, 2)
    task.mark(50) if follows == "mark" else task.barrier()
    task.records(5)
    task.work()
    assert task.flow.has_work
    assert task.flow.awaits_answers
    assert task.asked() == [1, 2]
    task.answer(1)
    assert task.sent == [10]
    task.answer(2)
    task.work()
    task.answer(5)
    assert task.sent == [10, 5, follows, 2]
    task.close()


def test_who_does_not_come_back_for_answers_waits_for_them():
    task = Task(UNORDERED)
    task.function.open_for.update(range(1, 11))
    task.records(*range(1, 11))
    task.barrier()
    task.work_on()
    assert sorted(map(str, task.sent[:-1])) == sorted(str(10 // n) for n in range(1, 11))
    assert task.sent[-1] == "barrier"
    task.close()


def test_no_more_is_taken_in_than_an_operator_takes_on():
    task = Task(ORDERED, capacity=3)
    task.records(*range(1, 8))
    task.work()
    assert task.level.is_full
    assert task.level.owed[0].unanswered == 3
    task.answer(1, 2)
    task.work()
    assert task.level.owed[0].unanswered >= 3
    assert task.level.owed[0].unanswered < 6
    task.function.open_for.update(range(8))
    task.work_on()
    task.barrier()
    task.work_on()
    assert task.sent == [*(10 // n for n in range(1, 8)), "barrier"]
    task.close()


def test_a_late_failure_names_its_record():
    task = Task(UNORDERED)
    task.records(1, 0)
    task.work()
    with pytest.raises(UserFunctionFailed) as failure:
        task.answer(0)
    assert "record: 0" in str(failure.value)
    assert task.level.owed[0].unanswered == 0
    task.close()


def test_answers_keep_the_time_of_their_split():
    """A strategy that follows an async function still knows of which split a record was."""
    function = Gated()
    descriptor = AsyncFunctionDescriptor(
        function, Time.seconds(300), 10, NO_RETRY_STRATEGY, UNORDERED
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    nodes = [
        SourceNode(id=1, name="source", spec=CollectionSpec(())),
        OperatorNode(id=2, name="ask", inputs=(1,), operator=AsyncWaitOperator(descriptor)),
        OperatorNode(id=3, name="time", inputs=(2,), operator=TimestampsOperator(strategy)),
        PartitionNode(id=4, name="key", inputs=(3,), exchange=Hash(lambda v: v)),
        SinkNode(id=5, name="collect", inputs=(4,), operator=CollectOperator()),
    ]
    physical = plan(Graph("job", {node.id: node for node in nodes}, 1, 128, batch=False))
    level = FlowingLevel(physical, 0, 0, lambda: 0, tell=lambda item: None, source=1)
    level.open()
    level.answer_later()
    function.open_for.update([1, 2])
    for split, value in (("a", 1), ("b", 2)):
        list(level.feed(1, Batch([value], [value * 100], split=split)))
    list(level.end_epoch())
    [time_task] = [task for task in level.tasks.values() if task.vertex.name == "time"]
    assert time_task.reported == {"a": 99, "b": 199}
    level.close()
