"""What a job gives the program."""

from __future__ import annotations

from typing import Any


class Taken(list[Any]):
    """Takes everything at once, however much it is."""

    is_full = False

    def put(self, values: list[Any]) -> None:
        self.extend(values)
