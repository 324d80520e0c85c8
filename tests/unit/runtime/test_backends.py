"""State is the same whether it is in memory or in RocksDB, and RocksDB leaves nothing behind."""

import fcntl
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.core.rows import Row
from headrace.core.state import MapStateDescriptor, ValueStateDescriptor
from headrace.core.windows import TimeWindow
from headrace.errors import InvalidArgument, NotSerializable, StateAccessError, Unsupported
from headrace.runtime.backends import (
    SETTING,
    Backend,
    BackendChoice,
    HeapBackend,
    backend_of,
    work_folders,
)
from headrace.runtime.backends import cells as cells_module
from headrace.runtime.backends import entry_cells as entry_cells_module
from headrace.runtime.backends.work_folders import WorkFolder
from headrace.runtime.subtask_state import SubtaskState
from headrace.runtime.tables import TABLES, Table

ROCKSDB = {SETTING: BackendChoice("rocksdb", memory=8 << 20)}


@dataclass(frozen=True)
class Point:
    x: int
    y: int


@dataclass(frozen=True)
class Alike:
    """Values that differ and have one hash."""

    name: str

    def __hash__(self) -> int:
        return 7


KEYS = [
    "a", "b", None, 1, 1.0, True, -1, -2, 7, ("t", 1), ("t", 1.0), b"a", 2**61 - 1 + 7,
    Row("x", 1), Row(a=1, b=2), Row(b=2, a=1), Point(1, 2), Alike("one"), Alike("two"),
    ("a", TimeWindow(0, 10)), ("a", (0, 10)), frozenset({1, 2}),
]  # fmt: skip
keys = st.sampled_from(KEYS)
numbers = st.integers(0, 9)
some = st.lists(numbers, max_size=3)

STEPS: dict[str, st.SearchStrategy[Any]] = {
    "value": st.tuples(st.just("put"), keys, numbers) | st.tuples(st.just("remove"), keys),
    "list": st.tuples(st.sampled_from(["append", "put"]), keys, some)
    | st.tuples(st.just("put"), keys, st.none()),
    "map": st.tuples(st.just("put"), keys, keys, numbers)
    | st.tuples(st.just("remove"), keys, keys)
    | st.tuples(st.just("clear"), keys),
}


@pytest.fixture
def tiny_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little room that most of what is asked for has to come from disk."""
    monkeypatch.setattr(cells_module, "_FIRST_ROOM", 3)
    monkeypatch.setattr(cells_module, "_LEAST_ROOM", 3)
    monkeypatch.setattr(cells_module, "_PIECE_CELLS", 2)
    monkeypatch.setattr(cells_module, "_OBJECT_BYTES", 10**9)
    monkeypatch.setattr(entry_cells_module, "_SORTED_AT_ONCE", 3)
    monkeypatch.setattr(entry_cells_module, "_MOST_DROPPED", 2)


@pytest.fixture(scope="module")
def backends() -> Iterator[list[Backend]]:
    """One RocksDB for all examples; every table has its own part of it."""
    both = [HeapBackend(), backend_of(ROCKSDB)]
    yield both
    for backend in both:
        backend.close()


def durable(change: Any) -> Any:
    return pickle.loads(pickle.dumps(change))


def ordered(contents: dict[Any, Any]) -> dict[Any, Any]:
    """The order of keys is of no account, that of the entries of a map is."""
    return {key: list(held.items()) if isinstance(held, dict) else held
            for key, held in contents.items()}  # fmt: skip


def table_of(kind: str, backend: Backend) -> Table:
    return TABLES[kind](logged=True, data=backend.mapping(kind, "state 's'"))


def rebuilt(kind: str, changes: list[Any], backend: Backend) -> Table:
    table = table_of(kind, backend)
    for change in changes:
        table.apply(durable(change))
    return table


@pytest.mark.parametrize("kind", ["value", "list", "map"])
@settings(
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_both_hold_the_same(
    kind: str, backends: list[Backend], tiny_cache: None, data: st.DataObject
) -> None:
    steps = data.draw(st.lists(STEPS[kind] | st.just(("take",)), max_size=60))
    tables = [table_of(kind, backend) for backend in backends]
    logs: list[list[Any]] = [[], []]
    for name, *arguments in [*steps, ("take",)]:
        for table, log in zip(tables, logs, strict=True):
            if name == "take":
                log.append(durable(table.take_changes()))
            else:
                getattr(table, name)(*durable(arguments))
        assert len(tables[0].data) == len(tables[1].data)
    logs = [[change for change in log if change is not None] for log in logs]
    assert logs[0] == logs[1]
    expected = ordered(tables[0].contents())
    assert ordered(tables[1].contents()) == expected
    for key in KEYS:
        assert (key in tables[1].data) == (key in tables[0].data)
    for backend in backends:
        assert ordered(rebuilt(kind, logs[0], backend).contents()) == expected
        for table in tables:
            for chunk in (1, 3, 100):
                copy = rebuilt(kind, list(table.snapshot(chunk)), backend)
                assert ordered(copy.contents()) == expected
    for table in tables:
        table.reset()
        assert (table.contents(), len(table.data)) == ({}, 0)


@pytest.fixture
def rocksdb() -> Iterator[Backend]:
    backend = backend_of(ROCKSDB)
    yield backend
    backend.close()


def test_a_large_map_is_read_in_order_and_in_pieces(rocksdb: Backend, tiny_cache: None) -> None:
    table: Any = table_of("map", rocksdb)
    names = [f"name {n * 7919 % 5000}" for n in range(5000)]
    for position, name in enumerate(names):
        table.put("key", name, position)
    table.take_changes()
    assert [name for name, _ in table.data["key"].items()] == names
    parts = list(table.snapshot(1))
    again: Any = rebuilt("map", parts, rocksdb)
    assert list(again.data["key"].items()) == list(zip(names, range(5000), strict=True))


def test_snapshots_are_cut_by_size(rocksdb: Backend) -> None:
    value: Any = table_of("value", rocksdb)
    entries: Any = table_of("map", rocksdb)
    for n in range(60):
        value.put(n, bytes(1 << 20))
        entries.put("all", n, bytes(1 << 20))
    for table in (value, entries):
        parts = [len(pickle.dumps(part)) for part in table.snapshot(50_000)]
        assert len(parts) > 2
        assert max(parts) < 12 << 20


def test_lists_and_maps_that_grow_in_the_cache_are_weighed(rocksdb: Backend) -> None:
    table: Any = TABLES["list"](logged=False, data=rocksdb.mapping("list", "state 's'"))
    for _ in range(12):
        for key in range(100):
            table.append(key, [bytes(50_000)])
    held = sum(len(values) for values in table.data._cells._young.values())
    held += sum(len(values) for values in table.data._cells._old.values())
    assert held * 50_000 < 24 << 20
    assert all(len(table.data[key]) == 12 for key in range(100))


def test_classes_of_no_module_are_not_written_with_every_entry(
    rocksdb: Backend, tiny_cache: None
) -> None:
    class Local:
        def __init__(self, n: int):
            self.n = n

    table: Any = table_of("value", rocksdb)
    for n in range(50):
        table.put(n, Local(n))
    assert all(type(table.data[n]) is Local and table.data[n].n == n for n in range(50))


def test_what_cannot_be_written_is_said_to_be(rocksdb: Backend, tiny_cache: None) -> None:
    table: Any = TABLES["value"](
        logged=False, data=rocksdb.mapping("value", "state 's' of the operator with uid 'u'")
    )
    table.put("key", (x for x in "generator"))
    with pytest.raises(NotSerializable, match="state 's' of the operator with uid 'u'"):
        table.data.update(dict.fromkeys(range(10)))


@pytest.mark.parametrize(
    ("make", "use"),
    [
        (lambda: ValueStateDescriptor("s"), lambda state: state.update(1)),
        (lambda: MapStateDescriptor("s"), lambda state: state.put("a", 1)),
    ],
)
def test_operator_state_stays_in_memory(
    rocksdb: Backend, make: Callable[[], Any], use: Callable[[Any], None]
) -> None:
    state = SubtaskState(logged=True, clock=lambda: 0, backend=rocksdb)
    use(state.broadcast("u", make()))
    assert state.table("u", "broadcast:s", make().kind).in_memory
    state.scope("u").key = "k"
    use(state.keyed("u", make()))
    assert not state.table("u", "s", make().kind).in_memory


def test_closed_state_is_not_silently_empty(tiny_cache: None) -> None:
    backend = backend_of(ROCKSDB)
    table: Any = table_of("value", backend)
    for n in range(20):
        table.put(n, n)
    backend.close()
    with pytest.raises(StateAccessError, match="closed"):
        table.data.get(0)


def test_small_state_needs_no_disk(tmp_path: Path) -> None:
    backend = backend_of({SETTING: BackendChoice("rocksdb", folders=(str(tmp_path / "made"),))})
    table: Any = table_of("value", backend)
    for n in range(100):
        table.put(n, n)
        if n % 2:
            table.remove(n)
    assert not (tmp_path / "made").exists()
    backend.close()


def test_files_are_removed(tmp_path: Path, tiny_cache: None) -> None:
    choice = BackendChoice("rocksdb", folders=(str(tmp_path),))
    for forget in (Backend.close, lambda backend: None):
        backend = backend_of({SETTING: choice})
        table: Any = table_of("value", backend)
        for n in range(100):
            table.put(n, n)
        assert list(tmp_path.iterdir())
        forget(backend)
        del backend, table
        assert not list(tmp_path.iterdir())


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    die = (
        "import os, signal, sys\n"
        "from headrace.runtime.backends.work_folders import WorkFolder\n"
        "folder = WorkFolder([sys.argv[1]])\n"
        "(folder.path / 'file').write_text('left')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    live = WorkFolder([str(tmp_path)])
    subprocess.run([sys.executable, "-c", die, str(tmp_path)], check=False)
    assert len(list(tmp_path.iterdir())) == 2
    sweep = "import sys\nfrom headrace.runtime.backends.work_folders import WorkFolder\n"
    subprocess.run(
        [sys.executable, "-c", f"{sweep}WorkFolder([sys.argv[1]])", str(tmp_path)], check=True
    )
    assert list(tmp_path.iterdir()) == [live.path]
    live.close()


def test_a_folder_that_is_swept_before_its_lock_is_held_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a process that starts at this moment it looks like what a killed one left."""
    flock, calls = fcntl.flock, []

    def sweep_first(lock: int, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:
            work_folders._SWEPT.discard(str(tmp_path))
            work_folders._sweep(str(tmp_path))
        flock(lock, how)

    monkeypatch.setattr(work_folders.fcntl, "flock", sweep_first)
    folder = WorkFolder([str(tmp_path)])
    assert len(calls) == 3, "the first one, the other process's, and that of a new folder"
    assert list(tmp_path.iterdir()) == [folder.path]
    folder.close()


def test_wrong_choices_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="no state backend 'forst'") as caught:
        BackendChoice("forst").check()
    assert "'rocksdb'" in str(caught.value)
    with pytest.raises(InvalidArgument, match="too few"):
        BackendChoice("rocksdb", memory=1000).check()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="rocksdict") as missing:
        backend_of(ROCKSDB)
    assert "pip install rocksdict" in str(missing.value)
