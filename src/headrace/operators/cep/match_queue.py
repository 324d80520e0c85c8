"""Complete matches that wait for their turn: the one that began first comes first.

Among matches that began with the same event the order is that of a binary heap, not that of their
coming. It shows where a strategy lets only one of them through, and it is Flink's order.
"""

from __future__ import annotations

from headrace.operators.cep.shared_buffer import Run


def push(queue: list[Run], run: Run) -> None:
    """Add a match."""
    at = len(queue)
    queue.append(run)
    while at > 0:
        parent = (at - 1) // 2
        if run.start >= queue[parent].start:
            break
        queue[at] = queue[parent]
        at = parent
    queue[at] = run


def pop(queue: list[Run]) -> Run:
    """Take the first match out."""
    first, last = queue[0], queue.pop()
    if queue:
        _sink(queue, 0, last)
    return first


def reorder(queue: list[Run]) -> None:
    """Make a list a queue again after some were taken out of it."""
    for at in range(len(queue) // 2 - 1, -1, -1):
        _sink(queue, at, queue[at])


def _sink(queue: list[Run], at: int, run: Run) -> None:
    """Put a match in place of the one at a position, below those that come before it."""
    inner = len(queue) // 2
    while at < inner:
        child = 2 * at + 1
        if child + 1 < len(queue) and queue[child].start > queue[child + 1].start:
            child += 1
        if run.start <= queue[child].start:
            break
        queue[at] = queue[child]
        at = child
    queue[at] = run
