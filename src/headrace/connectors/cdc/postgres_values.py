"""Values of PostgreSQL's columns: from the texts that it sends to what a driver gives."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType

IN_ISO = (
    "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex "
    "-c extra_float_digits=3 -c client_encoding=UTF8"
)
"""Settings of a session that sends such texts."""


def read_text(type: LogicalType) -> Callable[[str], Any] | None:
    match type:
        case lt.BooleanType():
            return lambda text: text in ("t", "true", "1")
        case lt.BinaryType() | lt.VarBinaryType():
            return lambda text: bytes.fromhex(text.removeprefix("\\x"))
        case lt.DateType():
            return datetime.date.fromisoformat
        case lt.TimeType():
            return datetime.time.fromisoformat
        case lt.TimestampType() | lt.LocalZonedTimestampType():
            return datetime.datetime.fromisoformat
    return None
