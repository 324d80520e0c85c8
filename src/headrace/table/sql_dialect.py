"""Which SQL statements are written in."""

from __future__ import annotations

from enum import Enum


class SqlDialect(Enum):
    """Flink's dialect; Hive's is refused where it is asked for."""

    DEFAULT = 0
    HIVE = 1
