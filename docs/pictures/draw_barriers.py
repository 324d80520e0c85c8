"""Draws the pictures of docs/modes.md: `make pictures`.

A small job runs in a network of headrace's own tasks, and a barrier is watched on its way.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from svg import BLUE, GREEN, GREY, INK, ORANGE, PALE, Picture

from headrace.common import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DiscardingSink, NumberSequenceSource
from headrace.memory.network import DELIVER, Disk, Network
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.messages import Alignment, TaskId
from headrace.runtime.flow.parcels import BARRIER, Parcel
from headrace.runtime.flow.pieces import Pace
from headrace.runtime.flow.windows import FIRST_WINDOW, Windows

LANES = {TaskId(0, 0): "source 1", TaskId(0, 1): "source 2", TaskId(1, 0): "count 1",
         TaskId(1, 1): "count 2", TaskId(2, 0): "sum 1", TaskId(2, 1): "sum 2"}  # fmt: skip
TOP, LANE = 60, 44


def job() -> PhysicalPlan:
    """Two exchanges, each with two tasks behind it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    source = NumberSequenceSource(0, 10**9)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.key_by(_third).map(_same).key_by(_same).map(_same)
    counts.sink_to(DiscardingSink())
    return plan(env.builder.peek("picture", parallelism=2, max_parallelism=8))


def _same(value: Any) -> Any:
    return value


def _third(value: int) -> int:
    return value % 3


class Silent:
    """Nobody listens."""

    def begun(self, number: int) -> None: ...

    def arrived(self, number: int, items: list[Any]) -> None: ...

    def committed(self, number: int) -> None: ...

    def told(self, items: list[Any]) -> None: ...


class Watch:
    """What happens to the barrier of a checkpoint, and after how many events."""

    def __init__(self, alignment: Alignment, chance: random.Random):
        settings = CheckpointSettings(alignment=alignment)
        self.network = Network(job(), Disk(), Silent(), settings=settings)
        self.chance = chance
        self.clock = 0
        self.sent: dict[TaskId, int] = {}
        """When a task took its snapshot and passed the barrier on."""
        self.came: dict[tuple[TaskId, TaskId], int] = {}
        """By sender and receiver: when the barrier was there."""
        self.kept: dict[TaskId, int] = {}
        """How many parcels became part of a task's snapshot."""
        self.complete = 0

    def step(self) -> None:
        """Let one thing happen, whatever it is."""
        self.network.master.discover()
        event = self.chance.choice(list(self.network.events()))
        kind, place = event
        is_barrier = kind == DELIVER and self._next_kind(place) == BARRIER
        if is_barrier:
            self.came[place] = self.clock
        self._now = place[1] if kind == DELIVER else place
        self.network.happen(event)
        self.clock += 1

    def _next_kind(self, channel: Any) -> int:
        return Parcel.decode(self.network._parcels[channel][0]).kind

    def snapshot(self, step: str, number: int) -> None:
        if step == "snapshot-taken":
            self.sent[self._now] = self.clock

    def follow(self) -> None:
        """From some events before the trigger until the checkpoint is complete."""
        with (
            patch("headrace.runtime.flow.task.reach", self.snapshot),
            # What depends on how fast this machine is would make every picture another one.
            patch.object(Windows, "_fitting", lambda self: FIRST_WINDOW),
            patch.object(Pace, "took", lambda self, records, seconds: None),
        ):
            for _ in range(300):
                self.step()
            self.begun = self.clock
            self.network.master.trigger(0.0)
            while self.network.master.last is None:
                self.step()
        self.complete = self.clock
        last = self.network.disk.last()
        assert last is not None
        for task, files in last.slots.items():
            if files.in_flight is not None:
                self.kept[task] = files.in_flight.size


def draw(alignment: Alignment, seed: int) -> Picture:
    watch = Watch(alignment, random.Random(seed))
    watch.follow()
    picture = Picture(watch.begun, watch.complete, TOP + LANE * len(LANES) + 60)
    heights = {task: TOP + LANE * n for n, task in enumerate(LANES)}
    for task, y in heights.items():
        picture.label(y + 4, LANES[task])
        picture.line((watch.begun, y), (watch.complete, y), PALE)
    for (sender, receiver), at in watch.came.items():
        start = (watch.sent[sender], heights[sender])
        picture.line(start, (at, heights[receiver]), GREY, "3 3", 1)
        picture.diamond(at, heights[receiver], ORANGE)
    for task, at in watch.sent.items():
        came = [when for (_, receiver), when in watch.came.items() if receiver == task]
        if came and max(came) != min(came):
            color = GREEN if task in watch.kept else BLUE
            picture.box(min(came), max(at, max(came)), heights[task] - 11, 22, color)
    for task, at in watch.sent.items():
        picture.dot(at, heights[task], INK)
    bottom = TOP + LANE * len(LANES)
    picture.line((watch.begun, 20), (watch.begun, bottom), INK)
    picture.text(watch.begun, 14, "triggered", anchor="start")
    picture.line((watch.complete, 20), (watch.complete, bottom), INK)
    picture.text(watch.complete, 14, "complete", anchor="end")
    return picture


PICTURES = {"aligned": (Alignment(), 5), "overtaking": (Alignment(overtakes_after=0), 5)}


def main(folder: Path) -> None:
    for name, (alignment, seed) in PICTURES.items():
        draw(alignment, seed).save(folder / f"barrier-{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "barriers")
