"""Parquet files that workers write of their slots' state."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.runtime.declared_state import Declared
from headrace.runtime.state_rows import KEYED, RowForm
from headrace.runtime.state_transfer import SlotState
from headrace.runtime.tables import ValueTable
from headrace.spark.savepoints.direct_files import (
    checksums_below,
    rewrite,
    row_groups,
    rows_in_file,
    write_state,
)

MAX_PARALLELISM = 128


def slot_state(contents: dict[object, object]) -> SlotState:
    table = ValueTable(logged=False)
    table.data.update(contents)
    return SlotState("counter", "count", KEYED, 3, Declared("value", "LONG", False), table)


def read(root: Path, form: RowForm, folder: str) -> dict[object, object]:
    items = [
        item
        for file, group in row_groups(root, folder, whole=False)
        for rows in rows_in_file(root / file, group, form.schema.names)
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
