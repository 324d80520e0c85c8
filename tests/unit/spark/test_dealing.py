"""A slot that reads its own rows of a savepoint gets what it would be sent."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from headrace.runtime.declared_state import Declared
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.flow.snapshots import Snapshots
from headrace.runtime.packed_changes import unpacked
from headrace.runtime.placement import Placement
from headrace.runtime.state_rows import BROADCAST, KEYED, LIST, UNION, WINDOW
from headrace.runtime.state_transfer import SlotState
from headrace.runtime.subtask_state import Changes, SubtaskState
from headrace.runtime.tables import ListTable, MapTable, Table, ValueTable
from headrace.spark.savepoints.dealing import Dealer, SlotFiles
from headrace.spark.savepoints.direct_files import files_in, rows_in_folder, write_state
from headrace.spark.savepoints.metadata import SavedState, state_folder
from headrace.spark.savepoints.restore import TakenOver

SLOTS = 3
MOST = 128


class Price:
    """A value that has no column."""

    def __init__(self, cents: int):
        self.cents = cents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Price) and other.cents == self.cents

    def __hash__(self) -> int:
        return hash(self.cents)


def values(contents: dict[Any, Any]) -> Table:
    table = ValueTable(logged=False)
    table.data.update(contents)
    return table


def lists(contents: dict[Any, list[Any]]) -> Table:
    table = ListTable(logged=False)
    table.data.update(contents)
    return table


def maps(contents: dict[Any, dict[Any, Any]]) -> Table:
    table = MapTable(logged=False)
    table.data.update(contents)
    return table


MAP = {"map": ["STRING", "LONG"]}
TABLES: dict[str, Any] = {
    "numbers": (KEYED, "LONG", values({n: n * 2 for n in range(1000)})),
    "texts": (KEYED, "STRING", values({f"key-{n}": f"value {n}" for n in range(1000)})),
    "objects": (KEYED, "PICKLED_BYTE_ARRAY", values({n: Price(n) for n in range(100)})),
    "lists": (KEYED, "LONG", lists({n: list(range(n % 5 + 1)) for n in range(100)})),
    "maps": (KEYED, MAP, maps({n: {f"{n}": n, "b": 2} for n in range(100)})),
    "windows": (WINDOW, "LONG", values({(n, (0, 10)): n for n in range(100)})),
    "rules": (BROADCAST, MAP, maps({None: {"a": 1, "b": 2}})),
    "own parts": (LIST, "LONG", lists({None: [1, 2, 3, 4, 5]})),
    "all parts": (UNION, "LONG", lists({None: [1, 2, 3]})),
}


def saved(root: Path, name: str) -> SavedState:
    scope, type_, table = TABLES[name]
    found = SlotState("op", name, scope, 0, Declared(table.kind, type_, False), table)
    form, rows, _ = write_state(found, root, MOST)
    return SavedState("op", name, form, type_, state_folder("op", scope, name), rows)


def contents(changes: Iterable[Any]) -> dict[tuple[str, str], Any]:
    state = SubtaskState(logged=False, clock=lambda: 0)
    for each in changes:
        state.apply(each)
    return {(uid, name): state.contents(uid, name) for uid, name, _ in state.contents_by_state()}


@pytest.mark.parametrize("same_groups", [True, False])
@pytest.mark.parametrize("name", TABLES)
def test_reading_is_like_being_sent(tmp_path: Path, name: str, same_groups: bool) -> None:
    state = saved(tmp_path, name)
    dealer = Dealer(state, Placement(SLOTS, SLOTS, MOST, 1, same_groups))
    sent: dict[int, list[Changes]] = {slot: [] for slot in range(SLOTS)}
    everything = rows_in_folder(tmp_path / state.folder, state.form.schema.names)
    for slot, changes in dealer.to_all(everything):
        sent[slot].append(changes)
    total = 0
    for slot in range(SLOTS):
        wanted = contents(sent[slot])
        assert contents(dealer.to_slot(files_in(tmp_path / state.folder), slot)) == wanted
        total += sum(map(len, wanted.values()))
    assert total >= len(TABLES[name][2].data)


@pytest.mark.parametrize("name", TABLES)
def test_files_that_others_open_are_dealt_out_alike(tmp_path: Path, name: str) -> None:
    state = saved(tmp_path, name)
    dealers = (Dealer(state, Placement(SLOTS, SLOTS, MOST, 1, True)),)
    sizes = {str(file.relative_to(tmp_path)): file.stat().st_size
             for file in files_in(tmp_path / state.folder)}  # fmt: skip
    far = SlotFiles(None, dealers, {**sizes, "state/other/of another/part-0.parquet": 0})
    near = SlotFiles(tmp_path, dealers)

    def open_file(path: str, size: int) -> Any:
        content = (tmp_path / path).read_bytes()
        assert size == len(content)
        return BytesIO(content)

    for slot in range(SLOTS):
        assert contents(far.changes(slot, open_file)) == contents(near.changes(slot))


def test_what_a_slot_takes_over_it_writes_itself(tmp_path: Path) -> None:
    """Its first files hold everything: the savepoint may go once they are a checkpoint."""
    dealers = [Dealer(saved(tmp_path, name), Placement(1, 1, MOST, 1, True)) for name in TABLES]
    files = SlotFiles(tmp_path, tuple(dealers))
    given: TakenOver = pickle.loads(pickle.dumps(TakenOver(files, [])))
    state = SubtaskState(logged=True, clock=lambda: 0)
    given.apply(state, 0, lambda name, size: BytesIO())
    written: list[tuple[str, bytes]] = []
    slot, _, _ = Snapshots(state, TaskId(1, 0), 1, None, written.extend, whole=True).take(1)
    assert len(slot.states) == len(TABLES)
    rmtree(tmp_path)
    stored = contents(unpacked(blob) for _, blob in written)
    plain = {name.rpartition(":")[2]: held for (_, name), held in stored.items()}
    assert plain == {name: table.data for name, (_, _, table) in TABLES.items()}
