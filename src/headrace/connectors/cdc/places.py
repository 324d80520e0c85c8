"""How far a table and the log of its changes were read: what a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Key = tuple[Any, ...]
Mark = Any
"""What a session saw of the table, in the words of its database; JSON."""
Position = Any
"""A place in the log; JSON."""


@dataclass(frozen=True)
class View:
    """A part of the table and what was seen of it: rows after the part before, up to a key."""

    mark: Mark
    upto: Key | None = None
    """None: to the table's end."""


@dataclass(frozen=True)
class Place:
    """Where reading goes on. First the table is read, each reader with a view of its own; then its
    changes, of which some are in a view already."""

    log: Position
    """Changes up to here are handed over, or in the views."""
    reads_table: bool = False
    views: tuple[View, ...] = ()
    until: Position = None
    """Changes after this place in the log are in no view."""

    def to_json(self) -> dict[str, Any]:
        views = [[view.mark, view.upto] for view in self.views]
        return {"log": self.log, "table": self.reads_table, "views": views, "until": self.until}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Place:
        views = tuple(View(mark, _key(upto)) for mark, upto in found["views"])
        return cls(found["log"], found["table"], views, found["until"])


def _key(values: Sequence[Any] | None) -> Key | None:
    return None if values is None else tuple(values)
