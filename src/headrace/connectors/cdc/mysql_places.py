"""Places in the binary log of MySQL and MariaDB."""

from __future__ import annotations

from typing import Any

FIRST_OFFSET = 4
"""Where the first event of a file is."""
Place = list[Any]
"""The number of a file, the offset in it and the name that files have before their number: places
in one log compare as they follow each other."""


def place_of(file: str, offset: int) -> Place:
    base, _, number = file.rpartition(".")
    return [int(number), int(offset), base]


def file_of(place: Place) -> str:
    return f"{place[2]}.{place[0]:06d}"


def place_text(place: Place) -> str:
    return f"{file_of(place)}:{place[1]}"
