"""Which slot gets which rows of stored state."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.core.keys import subtask_of
from headrace.runtime.declared_state import Declared
from headrace.runtime.placement import Placement
from headrace.runtime.state_rows import KEYED
from headrace.runtime.state_transfer import SlotState
from headrace.runtime.tables import ValueTable
from headrace.spark.savepoints.direct_files import rows_in_folder, write_state


@pytest.mark.parametrize(("parallelism", "most"), [(1, 128), (2, 128), (5, 128), (3, 7), (7, 7)])
def test_the_key_groups_of_a_slot(parallelism: int, most: int) -> None:
    placement = Placement(8, parallelism, most, 1, same_groups=True)
    for slot in range(8):
        wanted = [group for group in range(most) if subtask_of(group, parallelism, most) == slot]
        assert list(placement.groups_of(slot) or ()) == wanted


@pytest.mark.parametrize("stored", [64, 128])
@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_every_row_goes_to_one_slot(tmp_path: Path, stored: int, parallelism: int) -> None:
    """Whether the stored key groups are those of the new job or not."""
    contents = {f"key-{number}": number for number in range(2000)}
    table = ValueTable(logged=False)
    table.data.update(contents)
    found = SlotState("op", "count", KEYED, 0, Declared("value", "LONG", False), table)
    form, _, (file, *_) = write_state(found, tmp_path, stored)
    placement = Placement(6, parallelism, 128, 1, same_groups=stored == 128)
    dealt = []
    for slot in range(6):
        groups = placement.groups_of(slot)
        for rows in rows_in_folder((tmp_path / file).parent, form.schema.names, groups):
            own = placement.rows_of(form, rows, slot)
            dealt += form.decode(own)
            same = {each for each, part in placement.rows_by_key(form, own) if part.num_rows}
            assert same <= {slot}
    assert len(dealt) == len(contents)
    assert dict(dealt) == contents
