"""Giving a task back what it had when a checkpoint was taken."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from io import RawIOBase
from typing import Protocol

from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import Begin
from headrace.runtime.flow.parcels import Parcel
from headrace.runtime.flow.redealing import forget_who_read
from headrace.runtime.flow.snapshots import read_in_flight, restore
from headrace.runtime.subtask_state import SubtaskState

OpenFile = Callable[[str, int], RawIOBase]
"""Opens a file of a savepoint by its path below it and its size."""


class TakenOver(Protocol):
    """What a slot is given of a savepoint."""

    def apply(self, state: SubtaskState, slot: int, open_file: OpenFile) -> None:
        """Make it the state of a slot."""

    def in_flight(self, level: FlowingLevel, open_file: OpenFile) -> list[Parcel]:
        """What was on its way, as far as it belongs to the slot."""


def restore_level(
    level: FlowingLevel, begin: Begin, read: Callable[[str], bytes], open_saved: OpenFile
) -> list[Parcel]:
    """Give a task its state back; returns what was on its way to it.

    `read` gives the content of a file of state, `open_saved` one of the savepoint that the job
    begins with.
    """
    in_flight: list[Parcel] = []
    given: TakenOver | None = None
    if begin.state is not None:
        restore(level.state, begin.state, read)
        in_flight = read_in_flight(begin.state, read)
    elif begin.taken_over is not None:
        given = pickle.loads(begin.taken_over)
        given.apply(level.state, level.subtask, open_saved)
    if begin.state is not None or given is not None:
        level.time.restore()
    level.time.expect_senders()
    if begin.is_resumed:
        in_flight = forget_who_read(level, in_flight)
    return in_flight if given is None else given.in_flight(level, open_saved)
