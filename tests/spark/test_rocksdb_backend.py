"""Working state in RocksDB: the same results as in memory, and state larger than memory."""

from __future__ import annotations

import resource
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    RuntimeContext,
    StateBackend,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import NumberSequenceSource
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import HeadraceError
from tests.spark.fault_jobs import Numbers, Once, kill_this_process, restart_at_once

MEMORY = "state.backend.rocksdb.memory.fixed-per-slot"
KEYS = 1501
BACKENDS = [HashMapStateBackend(), EmbeddedRocksDBStateBackend()]


class Ledger(KeyedProcessFunction):
    """Every kind of state of a key, told with each record."""

    def __init__(self, disturb: Callable[[], None] | None, at: int):
        self._disturb, self._at = disturb, at

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self._marks = runtime_context.get_map_state(
            MapStateDescriptor("marks", Types.STRING(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        number = value[1]
        if self._disturb is not None and number == self._at:
            self._disturb()
        self._count.update((self._count.value() or 0) + 1)
        self._seen.add(number)
        mark = f"mark {number % 5}"
        if self._marks.contains(mark) and number % 2:
            self._marks.remove(mark)
        self._marks.put(mark, number)
        yield (f"{ctx.get_current_key()} {self._count.value()} {list(self._seen.get())} "
               f"{list(self._marks.items())}")  # fmt: skip


def key_of(value: Any) -> tuple[int, int]:
    """The numbers of a key come from one split, so that their order is certain."""
    return value[1] % 2, value[1] // 2 % KEYS


def expected(source: Numbers) -> Counter[str]:
    told: Counter[str] = Counter()
    seen: dict[Any, list[int]] = defaultdict(list)
    marks: dict[Any, dict[str, int]] = defaultdict(dict)
    for number in range(source.limit * source.count):
        key = key_of((None, number))
        seen[key].append(number)
        mark = f"mark {number % 5}"
        if number % 2:
            marks[key].pop(mark, None)
        marks[key][mark] = number
        told[f"{key} {len(seen[key])} {seen[key]} {list(marks[key].items())}"] += 1
    return told


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS, ids=["hashmap", "rocksdb"])
def test_results_are_the_same_when_a_worker_is_killed(
    env: StreamExecutionEnvironment, mode: str, backend: StateBackend, tmp_path: Path
) -> None:
    source = Numbers(limit=4 * KEYS, step=2000)
    disturb = Once(tmp_path, 1, kill_this_process)
    restart_at_once(env)
    env.set_state_backend(backend)
    env.configuration.set_string(MEMORY, "4mb")  # a few hundred entries of each state
    env.configuration.set_integer("headrace.state.compact-at-bytes", 300_000)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    ledger = numbers.key_by(key_of).process(Ledger(disturb, at=7 * KEYS), Types.STRING())
    assert Counter(ledger.execute_and_collect()) == expected(source)
    assert disturb.happened == 1


class Large(KeyedProcessFunction):
    """Ten kilobytes per key, in a worker that may take only so much more memory."""

    def __init__(self, limit: int):
        self._limit = limit

    def open(self, runtime_context: RuntimeContext) -> None:
        self._text = runtime_context.get_state(ValueStateDescriptor("text", Types.STRING()))
        self._seen = 0
        self._most = _resident() + self._limit

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self._seen += 1
        if self._seen % 500 == 0 and _resident() > self._most:
            raise MemoryError
        text = text_of(ctx.get_current_key())
        found = self._text.value()
        if found is None:
            self._text.update(text)
        else:
            yield "right" if found == text else "wrong"


def _resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def text_of(key: int) -> str:
    return f"{key:010}" * 1000


MB = 1024 * 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_batch_holds_four_times_its_memory(env: StreamExecutionEnvironment) -> None:
    limit, keys = 200 * MB, 80_000  # 800 MB of text
    env.set_parallelism(1)
    env.configuration.set_string(MEMORY, "32mb")
    every_key_twice = NumberSequenceSource(0, 2 * keys - 1)

    def run(backend: StateBackend) -> Counter[str]:
        env.set_state_backend(backend)
        numbers = env.from_source(every_key_twice, WatermarkStrategy.no_watermarks(), "numbers")
        found = numbers.key_by(lambda n: n % keys).process(Large(limit), Types.STRING())
        return Counter(found.execute_and_collect())

    with pytest.raises(HeadraceError, match="MemoryError"):
        run(HashMapStateBackend())
    assert run(EmbeddedRocksDBStateBackend()) == {"right": keys}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
def test_a_stream_holds_three_times_its_memory(
    env: StreamExecutionEnvironment, streaming: None
) -> None:
    """Also while changes are logged and snapshots are written."""
    limit, keys = 200 * MB, 60_000
    env.set_parallelism(1)
    env.configuration.set_string(MEMORY, "32mb")
    env.set_state_backend(EmbeddedRocksDBStateBackend())
    source = Numbers(limit=keys + 2000, step=1000, splits=1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    found = numbers.key_by(lambda value: value[1] % keys).process(Large(limit), Types.STRING())
    assert Counter(found.execute_and_collect()) == {"right": 2000}
