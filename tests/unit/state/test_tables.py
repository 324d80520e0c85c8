"""Names of tables, and rows for people to read."""

from __future__ import annotations

import datetime

import pyarrow as pa

from headrace.runtime.state_rows import KEYED, WINDOW, RowForm
from headrace.spark.savepoints.metadata import SavedState, state_folder
from headrace.state.files import readable_rows
from headrace.state.sql import table_names


def saved(uid: str, name: str, scope: str = KEYED) -> SavedState:
    return SavedState(uid, name, RowForm("value", scope, False, {}), "LONG", "")


def test_table_names():
    """Each state has a name of its own that SQL takes without quotes."""
    states = [saved("a b", "c"), saved("a", "b c"), saved("x", "n"), saved("x", "n", WINDOW)]
    assert list(table_names(states).values()) == ["a_b_c", "a_b_c_2", "x_n", "x_n_window"]


def test_readable_rows():
    """Everything becomes what JSON can say."""
    table = pa.table({
        "moment": pa.array([datetime.datetime(2026, 1, 2)], pa.timestamp("us")),
        "blob": pa.array([b"\x01\xff"], pa.binary()),
        "value": pa.array([b"pickle"], pa.binary()),
        "value_text": ["Thing(1)"],
        "map": pa.array([[(1, 2.5)]], pa.map_(pa.int64(), pa.float64())),
        "pair": pa.array([{"f0": 1, "f1": None}], pa.struct([("f0", pa.int64()),
                                                            ("f1", pa.string())])),
    })  # fmt: skip
    assert list(readable_rows(table)) == [
        {"moment": "2026-01-02T00:00:00", "blob": "0x01ff", "value": "Thing(1)",
         "map": {"1": 2.5}, "pair": [1, None]}
    ]  # fmt: skip


def test_folders_of_states():
    """A name never leads out of the savepoint, nor is it hidden."""
    assert state_folder("a/b", KEYED, "..") == "state/a%2Fb/%2E."
    assert state_folder("a", WINDOW, ".x") == "state/a/%2Ex@window"
