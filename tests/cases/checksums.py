"""What a result is, in one line: how many rows, and a checksum of them in any order."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any


def digest(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> tuple[int, str]:
    """Of Python values: rows as sorted lines of CSV below their header."""
    lines = []
    for row in rows:
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow([shown(value) for value in row])
        lines.append(out.getvalue())
    lines.sort(key=str.encode)
    whole = "\n".join([",".join(header), *lines]) + "\n"
    return len(lines), hashlib.sha256(whole.encode()).hexdigest()


def shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03}"
    return str(value.normalize()) if isinstance(value, Decimal) else str(value)
