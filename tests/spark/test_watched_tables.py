"""Tables whose files appear while they are read."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.table import EnvironmentSettings, TableEnvironment


def add_file(folder: Path, number: int, modified: float | None = None) -> None:
    hidden = folder.parent / f"{number}.csv"
    hidden.write_text(f"{number}\n")
    if modified is not None:
        os.utime(hidden, (modified, modified))
    hidden.rename(folder / hidden.name)


def test_a_file_is_read_however_old_it_is(tmp_path: Path) -> None:
    """Spark alone would leave out one that is a week older than the newest it has read."""
    folder = tmp_path / "watched"
    folder.mkdir()
    add_file(folder, 1)
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql(
        f"CREATE TABLE numbers (n INT) WITH ('connector' = 'filesystem', 'path' = '{folder}', "
        "'format' = 'csv', 'source.monitor-interval' = '100 ms')"
    )
    with tables.execute_sql("SELECT n FROM numbers").collect() as rows:
        assert next(rows)[0] == 1
        add_file(folder, 2, modified=0)
        assert next(rows)[0] == 2
