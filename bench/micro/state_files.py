"""What the files of checkpoints cost: changes of state as bytes and back, and over one pickle.

Needs no engine: `python -m bench.micro.state_files`. What a task has changed becomes bytes while
its records wait.
"""

from __future__ import annotations

import gc
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.columnar import type_to_json
from headrace.core.rows import Row
from headrace.core.types import Types
from headrace.core.windows import TimeWindow
from headrace.runtime.change_rows import Change
from headrace.runtime.declared_state import Declared
from headrace.runtime.packed_changes import packed, unpacked
from headrace.runtime.pickling import dumps
from headrace.runtime.subtask_state import SubtaskState

SIZES = (20_000, 500_000)
UID, NAME = "operator", "state"


@dataclass
class Account:
    """An object of a user's class."""

    owner: str
    balance: int


def declared(kind: str, type_: Any, *, ttl: bool = False) -> Declared:
    return Declared(kind, type_to_json(type_), ttl)


PICKLED = Types.PICKLED_BYTE_ARRAY()
TEXT_AND_NUMBER = Types.TUPLE([Types.STRING(), Types.LONG()])


def values(make_key: Callable[[int], Any], make: Callable[[int], Any]) -> Callable[[int], Change]:
    return lambda count: ({make_key(n): make(n) for n in range(count)}, [])


def text(number: int) -> str:
    return f"user-{number:08d}"


CASES: dict[str, tuple[str, Declared, Callable[[int], Change]]] = {
    "int to int": ("value", declared("value", Types.LONG()), values(int, lambda n: n * 7919)),
    "int to int, undeclared": (
        "value", declared("value", PICKLED), values(int, lambda n: n * 7919),
    ),
    "text to tuple": (
        "value", declared("value", TEXT_AND_NUMBER), values(text, lambda n: (text(n // 9), n * 3)),
    ),
    "text to tuple, undeclared": (
        "value", declared("value", PICKLED), values(text, lambda n: (text(n // 9), n * 3)),
    ),
    "int to object": ("value", declared("value", PICKLED), values(int, lambda n: Account("x", n))),
    "int to row": (
        "value", declared("value", Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LONG()])),
        values(int, lambda n: Row(a="x", b=n)),
    ),
    "int to dict": (
        "value", declared("value", PICKLED), values(int, lambda n: {"a": n, "b": 2 * n}),
    ),
    "int to list": ("value", declared("value", PICKLED), values(int, lambda n: [n, 2 * n])),
    "int to int, expiring": (
        "value", declared("value", Types.LONG(), ttl=True), values(int, lambda n: (10**12 + n, n)),
    ),
    "key and window to int": (
        "value", declared("value", Types.LONG()),
        values(lambda n: (n // 4, TimeWindow(n % 4, n % 4 + 1)), int),
    ),
    "list, 5 ints each": (
        "list", declared("list", Types.LONG()),
        lambda count: ({}, {n: [n, 1, 2, 3, 4] for n in range(count // 5)}),
    ),
    "map, 10 ints each": (
        "map", declared("map", Types.MAP(Types.LONG(), Types.LONG())),
        lambda count: (
            [], {n: dict.fromkeys(range(10), n) for n in range(count // 10)},
            {n: [] for n in range(count // 10)},
        ),
    ),
    "map, 2 texts each": (
        "map", declared("map", Types.MAP(Types.STRING(), Types.LONG())),
        lambda count: (
            [], {text(n): {f"{n}-{i}": n for i in range(2)} for n in range(count // 2)},
            {text(n): [] for n in range(count // 2)},
        ),
    ),
    "timers": (
        "timers", Declared("timers", "keyed", ttl=False),
        lambda count: ([("event", 10**12 + n * 10, n) for n in range(count)], []),
    ),
}  # fmt: skip


def pickled(changes: Any) -> bytes:
    """As files of the first form were written."""
    return pickle.dumps([dumps(changes)], 5)


def unpickled(blob: bytes) -> Any:
    return [change for part in pickle.loads(blob) for change in pickle.loads(part)]


def restore(changes: Any) -> None:
    SubtaskState(logged=False, clock=lambda: 0).apply(changes)


def main() -> None:
    print(f"{'':28}{'entries':>8}{'write ms':>9}{'/pickle':>8}{'read ms':>9}{'/pickle':>8}"
          f"{'bytes':>11}{'/pickle':>8}")  # fmt: skip
    for count in SIZES:
        for name, (kind, how, make) in CASES.items():
            changes = [(UID, "timers" if kind == "timers" else prefixed(name), kind, make(count))]
            known = {(UID, "_timers" if kind == "timers" else prefixed(name)): how}
            show(name, count, changes, known)


def prefixed(case: str) -> str:
    return ("window:" if "window" in case else "") + NAME


def show(name: str, count: int, changes: Any, known: Any) -> None:
    repeats = 15 if count < 100_000 else 5
    blob, old = packed(changes, known)[0], pickled(changes)
    tasks: list[Callable[[], Any]] = [
        lambda: packed(changes, known), lambda: pickled(changes),
        lambda: restore(unpacked(blob)), lambda: restore(unpickled(old)),
    ]  # fmt: skip
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeats):
        for task, spent in zip(tasks, times, strict=True):
            gc.collect()
            gc.disable()
            start = time.perf_counter()
            task()
            spent.append((time.perf_counter() - start) * 1000)
            gc.enable()
    write, write_old, read, read_old = (min(spent) for spent in times)
    print(f"{name:28}{count:8}{write:9.2f}{write / write_old:8.2f}{read:9.2f}"
          f"{read / read_old:8.2f}{len(blob):11}{len(blob) / len(old):8.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
