"""Sources that hand over round by round, in tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headrace.core.source import Source, SplitReader, SplitSpec
from headrace.plan.physical import Vertex
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.flow.round_sources import LiveRounds, Portion, SplitRounds
from headrace.runtime.source_task import read_ranges

Portions = Mapping[TaskId, Portion]


def vertex_of(source: Source[Any]) -> Vertex:
    return Vertex(3, "uid", "source", 0, 1, 128, None, SplitSpec(source))


def tasks_of_source(count: int) -> list[TaskId]:
    return [TaskId(0, number) for number in range(count)]


def split_rounds(
    source: Source[Any], tasks: int = 1, saved: dict[str, Any] | None = None
) -> SplitRounds:
    return SplitRounds(vertex_of(source), tasks_of_source(tasks), source, saved or {})


def live_rounds(
    source: Source[Any], tasks: int = 1, saved: dict[str, Any] | None = None
) -> LiveRounds:
    return LiveRounds(vertex_of(source), tasks_of_source(tasks), source, saved or {})


def read(source: Source[Any], portions: Portions) -> list[Any]:
    """The records of what was handed over."""
    reader = source.create_reader()
    assert isinstance(reader, SplitReader)
    return [
        value
        for task in sorted(portions)
        for batch in read_ranges(reader, portions[task].ranges, splits_end=source.splits_end)
        for value in batch.values
    ]


def read_rounds(
    source: Source[Any],
    rounds: SplitRounds,
    limit: int | None = None,
    waiting: Collection[str] = (),
) -> list[list[Any]]:
    """The records of each round, until there is nothing new."""
    found = []
    while rounds.has_news(waiting):
        found.append(read(source, rounds.hand_over(limit, waiting)))
    return found
