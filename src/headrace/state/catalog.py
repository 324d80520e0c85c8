"""What a savepoint holds: its operators and states, and how one of them is found."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from headrace.core.columnar import type_from_json
from headrace.core.schema_text import schema_text
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata

__all__ = ["OperatorInfo", "StateInfo", "find_state", "operators_of", "states_of"]


@dataclass(frozen=True)
class OperatorInfo:
    """An operator of the job that a savepoint was taken of."""

    uid: str
    name: str
    type: str
    """The class that runs it."""
    generated_uid: bool
    """Whether the program gave no uid: it then follows from the operator's place in the graph."""
    parallelism: int
    max_parallelism: int
    states: tuple[str, ...]
    """The names of its states, without timers."""
    timers: int


@dataclass(frozen=True)
class StateInfo:
    """A state of an operator."""

    operator: str
    name: str
    kind: str
    """`value`, `list`, `map` or `timers`."""
    scope: str
    """What it is kept for: `keyed`, `window`, `broadcast`, `operator-list`, `operator-union`."""
    key_type: TypeInformation | None
    map_key_type: TypeInformation | None
    value_type: TypeInformation | None
    """As it is stored; the type that all values share."""
    declared: TypeInformation | None
    """As the program declared it."""
    ttl: bool
    rows: int
    bytes: int

    def type_text(self) -> str:
        """Its types for people to read: what leads to what."""
        parts = [kind for kind in (self.key_type, self.map_key_type, self.value_type) if kind]
        return " -> ".join(" ".join(schema_text(kind).split()) for kind in parts)


def states_of(metadata: SavepointMetadata, uid: str | None = None) -> list[StateInfo]:
    """All states, timers among them, in order of operator and name."""
    found = [_info(metadata, state) for state in metadata.states if uid in (None, state.operator)]
    return sorted(found, key=lambda state: (state.operator, state.name, state.scope))


def _info(metadata: SavepointMetadata, state: SavedState) -> StateInfo:
    types = state.form.types
    size = sum(size for path, (size, _) in metadata.files.items()
               if path.rpartition("/")[0] == state.folder)  # fmt: skip
    return StateInfo(
        state.operator, state.name, state.form.kind, state.form.scope, types.get("key"),
        types.get("map_key"), types.get("value"),
        None if state.declared is None else type_from_json(state.declared),
        state.form.ttl, state.rows, size,
    )  # fmt: skip


def operators_of(metadata: SavepointMetadata) -> list[OperatorInfo]:
    """The operators in the order of the graph."""
    return [
        OperatorInfo(
            each["uid"], each["name"], each["type"], bool(each["generated_uid"]),
            int(each["parallelism"]), int(each["max_parallelism"]),
            tuple(state.name for state in metadata.states
                  if state.operator == each["uid"] and state.form.kind != TIMERS),
            sum(state.rows for state in metadata.states
                if state.operator == each["uid"] and state.form.kind == TIMERS),
        )
        for each in metadata.operators
    ]  # fmt: skip


def find_state(
    metadata: SavepointMetadata, uid: str, name: str, scope: str | None = None
) -> SavedState:
    """The state of an operator by its name; the scope says which of two that share a name."""
    found = [state for state in metadata.states
             if (state.operator, state.name) == (uid, name)
             and scope in (None, state.form.scope)]  # fmt: skip
    if len(found) == 1:
        return found[0]
    if found:
        scopes = ", ".join(repr(state.form.scope) for state in found)
        raise InvalidArgument(
            f"operator {uid!r} has {len(found)} states called {name!r}", origin=calling_origin(),
            hint=f"Say which one by its scope: {scopes}.",
        )  # fmt: skip
    raise _unknown(metadata, uid, name)


def _unknown(metadata: SavepointMetadata, uid: str, name: str) -> InvalidArgument:
    mine = [state.name for state in metadata.states if state.operator == uid]
    if mine:
        what = "timers" if name == TIMERS_NAME else f"state {name!r}"
        return InvalidArgument(
            f"operator {uid!r} has no {what}", origin=calling_origin(),
            hint=f"It has: {', '.join(map(repr, sorted(mine)))}.",
        )  # fmt: skip
    return unknown_operator(metadata, uid)


def unknown_operator(metadata: SavepointMetadata, uid: str) -> InvalidArgument:
    """What to say of a uid that is not there, or that has no state."""
    known = {each["uid"]: each["name"] for each in metadata.operators}
    stateful = sorted({state.operator for state in metadata.states})
    listed = ", ".join(map(repr, stateful)) or "none"
    by_name = [known_uid for known_uid, its_name in known.items() if its_name == uid]
    close = by_name or difflib.get_close_matches(uid, stateful, 1)
    hint = f"Operators with state: {listed}."
    if close:
        hint = f"Did you mean {close[0]!r}? {hint}"
    what = "has no state" if uid in known else "is not there"
    return InvalidArgument(f"operator {uid!r} {what}", origin=calling_origin(), hint=hint)
