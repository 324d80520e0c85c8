"""What becomes of operator state when a job goes on with another number of subtasks.

Each kind of state is given as the parts of the old subtasks, in their order, empty ones too, and
comes back as the parts of the new ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def split_list(parts: Sequence[Sequence[T]], parallelism: int, first: int = 0) -> list[list[T]]:
    """List state: the elements, in the order of the old subtasks, in runs of equal length.

    The first runs are one longer where the elements do not divide evenly. `first` is the subtask
    that is given the first run, see `next_first`. With as many subtasks as before each keeps its
    own part.
    """
    if len(parts) == parallelism:
        return [list(part) for part in parts]
    elements = [element for part in parts for element in part]
    length, longer = divmod(len(elements), parallelism)
    new: list[list[T]] = [[] for _ in range(parallelism)]
    start = 0
    for number in range(parallelism):
        end = start + length + (number < longer)
        new[(first + number) % parallelism] = elements[start:end]
        start = end
    return new


def next_first(elements: int, parallelism: int, first: int = 0) -> int:
    """Where the operator's next list should begin, so that not every longer run goes to the same
    subtasks."""
    return (first + elements % parallelism) % parallelism


def union(parts: Sequence[Sequence[T]], parallelism: int) -> list[list[T]]:
    """Union list state: every subtask is given all elements, and takes what it wants."""
    elements = [element for part in parts for element in part]
    return [list(elements) for _ in range(parallelism)]


def broadcast(parts: Sequence[Mapping[K, V]], parallelism: int) -> list[dict[K, V]]:
    """Broadcast state: all parts say the same, so every new subtask is given one of them."""
    if not parts:
        return [{} for _ in range(parallelism)]
    return [dict(parts[number % len(parts)]) for number in range(parallelism)]
