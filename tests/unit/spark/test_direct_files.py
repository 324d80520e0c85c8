"""Parquet files that workers write of their slots' state."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import IncompatibleState
from headrace.runtime.declared_state import Declared
from headrace.runtime.state_rows import KEYED, RowForm
from headrace.runtime.state_transfer import SlotState
from headrace.runtime.tables import ValueTable
from headrace.spark.savepoints.direct_files import (
    checksums_below,
    rewrite,
    rows_in_folder,
    write_state,
)
from headrace.spark.savepoints.writer import merged_states

MAX_PARALLELISM = 128


def slot_state(contents: dict[object, object]) -> SlotState:
    table = ValueTable(logged=False)
    table.data.update(contents)
    return SlotState("counter", "count", KEYED, 3, Declared("value", "LONG", False), table)


def read(root: Path, form: RowForm, folder: str) -> dict[Any, Any]:
    items = [
        item
        for rows in rows_in_folder(root / folder, form.schema.names)
        for item in form.decode(rows)
    ]
    return dict(items)


@pytest.mark.parametrize("late", [None, "text", 2**70, (1, "pair")])
def test_what_was_written_is_read_back_whatever_comes_late(tmp_path: Path, late: object) -> None:
    """The type is guessed from the first values; one far behind them may tell otherwise."""
    contents: dict[object, object] = {number: number * 2 for number in range(60_000)}
    if late is not None:
        contents[-1] = late
    form, rows, (file, *sums) = write_state(slot_state(contents), tmp_path, MAX_PARALLELISM)
    folder = file.rsplit("/", 1)[0]
    assert rows == len(contents)
    assert read(tmp_path, form, folder) == contents
    assert checksums_below(tmp_path, [folder]) == {file: sums}
    assert [path.name for path in (tmp_path / folder).iterdir()] == ["part-00003.parquet"]


def test_a_file_is_given_the_form_that_fits_all_slots(tmp_path: Path) -> None:
    numbers, texts = slot_state({1: 2, 3: 4}), slot_state({"a": "b"})
    form, _, (file, *_) = write_state(numbers, tmp_path, MAX_PARALLELISM)
    wanted = form.unified(texts.form())
    assert wanted.to_json() != form.to_json()
    below, *sums = rewrite(tmp_path, file, form, wanted, MAX_PARALLELISM)
    assert below == file
    assert read(tmp_path, wanted, file.rsplit("/", 1)[0]) == {1: 2, 3: 4}
    assert checksums_below(tmp_path, [file.rsplit("/", 1)[0]]) == {file: sums}


def test_an_empty_state_has_no_file(tmp_path: Path) -> None:
    _, rows, _ = write_state(slot_state({}), tmp_path, MAX_PARALLELISM)
    assert rows == 0
    assert list(tmp_path.iterdir()) == []


def test_slots_may_disagree_on_whether_values_expire(tmp_path: Path) -> None:
    """As they do when some have not run since the program was changed."""
    table = ValueTable(logged=False)
    table.data.update({7: (1000, 70)})
    aged = SlotState("counter", "count", KEYED, 4, Declared("value", "LONG", True), table)
    young = slot_state({1: 10, 2: 20})
    parts, files = [], []
    for found in (young, aged):
        form, rows, (file, *_) = write_state(found, tmp_path, MAX_PARALLELISM)
        shown = json.dumps(form.to_json())
        parts.append(SimpleNamespace(operator="counter", name="count", form=shown,
                                     declared='"LONG"', rows=rows))  # fmt: skip
        files.append((file, form))
    [state] = merged_states(parts)
    assert state.form.ttl
    for file, form in files:
        if not form.ttl:
            rewrite(tmp_path, file, form, state.form, MAX_PARALLELISM)
    contents = read(tmp_path, state.form, state.folder)
    assert contents[7] == (1000, 70)
    assert {key: value for key, (_, value) in contents.items()} == {1: 10, 2: 20, 7: 70}
    assert min(age for age, _ in contents.values()) == 1000
    assert contents[1][0] > 1000


def test_slots_must_agree_on_the_type_of_a_state() -> None:
    form = json.dumps(slot_state({1: 10}).form().to_json())
    parts = [SimpleNamespace(operator="op", name="count", form=form, declared=declared, rows=rows)
             for declared, rows in (('"LONG"', 3), ('"INT"', 2))]  # fmt: skip
    with pytest.raises(IncompatibleState, match="cannot be saved yet"):
        merged_states(parts)
    parts[1].rows = 0
    [state] = merged_states(parts)
    assert state.declared == "LONG"
