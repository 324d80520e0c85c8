"""What is different between two savepoints."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from headrace.runtime.subtask_state import TIMERS
from headrace.spark.savepoints.metadata import SavedState
from headrace.state.files import SavepointFiles

__all__ = ["StateDifference", "compare"]

_EXAMPLES = 3
_UNTOLD = ("key_group", "position", "expires_from")
"""Columns that say nothing of what a state holds."""


@dataclass
class StateDifference:
    """How one state differs; of each kind of difference a few examples."""

    operator: str
    name: str
    scope: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    same: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)

    @property
    def any(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def note(self, what: str, identity: str, **values: Any) -> None:
        setattr(self, what, getattr(self, what) + 1)
        if getattr(self, what) <= _EXAMPLES:
            self.examples.append({"what": what, **json.loads(identity), **values})


def compare(old: SavepointFiles, new: SavepointFiles) -> list[StateDifference]:
    """All states of both, in order of operator and name."""
    before, after = _by_identity(old), _by_identity(new)
    return [
        _compared(identity, _values(old, before.get(identity)), _values(new, after.get(identity)))
        for identity in sorted(before.keys() | after.keys())
    ]


def _by_identity(files: SavepointFiles) -> dict[tuple[str, str, str], SavedState]:
    return {(state.operator, state.name, state.form.scope): state
            for state in files.metadata.states}  # fmt: skip


def _values(files: SavepointFiles, state: SavedState | None) -> dict[str, str]:
    """For each key (and window, and key of a map) the value, both as JSON."""
    if state is None:
        return {}
    found = {}
    for row in files.rows(state):
        value = None if state.form.kind == TIMERS else row.pop("value")
        identity = {name: part for name, part in row.items() if name not in _UNTOLD}
        found[json.dumps(identity)] = json.dumps(value, sort_keys=True)
    return found


def _compared(
    identity: tuple[str, str, str], before: dict[str, str], after: dict[str, str]
) -> StateDifference:
    found = StateDifference(*identity)
    for key, value in after.items():
        was = before.pop(key, None)
        if was is None:
            found.note("added", key, now=json.loads(value))
        elif was != value:
            found.note("changed", key, was=json.loads(was), now=json.loads(value))
        else:
            found.same += 1
    for key, value in before.items():
        found.note("removed", key, was=json.loads(value))
    return found
