"""Changes of a query as a pandas DataFrame."""

from __future__ import annotations

import datetime

from headrace.core.logical_types import (
    BIGINT,
    STRING,
    Field,
    LocalZonedTimestampType,
    RowType,
    TimeType,
)
from headrace.table.row_frames import data_frame, remaining

HOUR = 3_600_000


def test_changes_take_rows_away() -> None:
    changes = [(0, "a", 1), (0, "b", 2), (1, "a", 1), (2, "a", 3), (3, "b", 2), (0, "c", 4)]
    assert remaining(changes) == [("a", 3), ("c", 4)]
    row = RowType((Field("k", STRING), Field("v", BIGINT)))
    assert data_frame(changes, row).values.tolist() == [["a", 3], ["c", 4]]


def test_times_are_what_programs_know() -> None:
    row = RowType((Field("t", TimeType(0)), Field("z", LocalZonedTimestampType(3))))
    frame = data_frame([(0, HOUR, 0), (0, None, None)], row, "Europe/Berlin")
    assert frame.t[0] == datetime.time(1)
    assert frame.z[0].isoformat() == "1970-01-01T01:00:00+01:00"
    assert frame.z.isna().tolist() == [False, True]
