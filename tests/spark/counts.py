"""What jobs that are killed do between their source and their sinks: they number records by key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from headrace.common import Types
from headrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor

KEYS = 7


class Count(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{ctx.get_current_key()} #{count}"


def counts_of(numbers: DataStream) -> DataStream:
    """The count of each number's key, of numbers as texts."""
    keyed = numbers.key_by(lambda value: int(value) % KEYS, Types.INT())
    return keyed.process(Count(), Types.STRING()).uid("count")


def are_in_order(counts: list[str]) -> bool:
    """Whether no count of a key comes before a smaller one."""
    by_key: dict[str, list[int]] = {}
    for key, _, count in (line.partition(" #") for line in counts):
        by_key.setdefault(key, []).append(int(count))
    return all(found == sorted(found) for found in by_key.values())


def expected(records: int) -> Counter[str]:
    """What that gives for the numbers up to a limit, in plain Python."""
    sizes = Counter(number % KEYS for number in range(records))
    return Counter(f"{key} #{n}" for key, size in sizes.items() for n in range(1, size + 1))
