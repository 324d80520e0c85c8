"""What a state access costs in memory and in RocksDB.

Needs no engine: `python -m bench.micro.state_backends`. The keys either fit into the cache that
RocksDB's backend keeps of Python objects, or are twenty times as many.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from headrace.core.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from headrace.runtime.backends import SETTING, Backend, BackendChoice, backend_of
from headrace.runtime.subtask_state import SubtaskState

ACCESSES = 200_000
FEW, MANY = 5_000, 1_000_000
UID = "operator"

Access = Callable[[int], Any]


def count(state: SubtaskState) -> Access:
    value: Any = state.keyed(UID, ValueStateDescriptor("count"))
    return lambda key: value.update((value.value() or 0) + 1)


def append(state: SubtaskState) -> Access:
    items: Any = state.keyed(UID, ListStateDescriptor("items"))
    return items.add


def put(state: SubtaskState) -> Access:
    entries: Any = state.keyed(UID, MapStateDescriptor("entries"))
    return lambda key: entries.put(key & 7, (entries.get(key & 7) or 0) + 1)


JOBS = {"value: read and update": count, "list: append": append, "map: read and put": put}


def seconds(job: Callable[[SubtaskState], Access], backend: Backend, keys: int) -> float:
    state = SubtaskState(logged=False, clock=lambda: 0, backend=backend)
    access = job(state)
    scope = state.scope(UID)
    for key in range(keys):
        scope.key = key
        access(key)
    chosen = random.Random(1).choices(range(keys), k=ACCESSES)
    start = time.perf_counter()
    for key in chosen:
        scope.key = key
        access(key)
    return time.perf_counter() - start


def main() -> None:
    print(f"{'microseconds per access':28}{'keys':>10}{'heap':>8}{'RocksDB':>9}{'ratio':>7}")
    for name, job in JOBS.items():
        for keys in (FEW, MANY):
            taken = []
            for kind in ("hashmap", "rocksdb"):
                backend = backend_of({SETTING: BackendChoice(kind)})
                taken.append(seconds(job, backend, keys) / ACCESSES * 1e6)
                backend.close()
            heap, disk = taken
            print(f"{name:28}{keys:10,}{heap:8.2f}{disk:9.2f}{disk / heap:7.1f}")


if __name__ == "__main__":
    main()
