"""What is remembered for each key: in memory until a checkpoint, and then in state."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from headrace.core.operator import Context
from headrace.core.state import ValueState, ValueStateDescriptor
from headrace.core.types import TypeInformation, Types
from headrace.errors import IncompatibleState
from headrace.operators.cep.nfa import Nfa
from headrace.operators.cep.shared_buffer import NO_RUNS, PACKED_TYPE, Matches

_time_of = itemgetter(0)
_WAITING: ValueStateDescriptor[list[tuple[int, Any]]] = ValueStateDescriptor(
    "events-waiting", Types.LIST(Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()]))
)


class KeyMatches(Matches):
    """One key's events that wait for the watermark, and its partial matches."""

    __slots__ = ("timer", "waiting", "waits")

    def __init__(self, waiting: list[tuple[int, Any]]):
        self.runs = NO_RUNS
        self.complete = NO_RUNS
        self.sequence = self.links = 0
        self.changed = False
        self.waiting = waiting
        self.timer: int | None = None
        """The earliest timer that is set."""
        self.waits = False
        """Whether `waiting` differs from what is stored."""

    def due(self, nfa: Nfa) -> int | None:
        """When there is something to do for the key."""
        timeout = nfa.next_timeout(self) if self.runs else None
        if not self.waiting:
            return timeout
        first: int = min(map(_time_of, self.waiting))
        return first if timeout is None else min(first, timeout)


class MatchStore:
    """Finds what is remembered for a key."""

    packed_type: TypeInformation = PACKED_TYPE
    """Of partial matches in the form that is stored."""

    def __init__(self, ctx: Context, nfa: Nfa):
        self._ctx = ctx
        self._nfa = nfa
        self._waiting = ctx.keyed_state(_WAITING)
        self._matches: ValueState[Any] = ctx.keyed_state(
            ValueStateDescriptor("partial-matches", self.packed_type)
        )
        self.opened: dict[Any, KeyMatches] = {}
        """The keys that records came for since the last checkpoint."""

    def of(self, key: Any) -> KeyMatches:
        """What there is for a key, to be changed in place."""
        found = self.opened.get(key)
        return self.load(key) if found is None else found

    def load(self, key: Any) -> KeyMatches:
        """The same for a key that is not opened yet."""
        self._ctx.scope.key = key
        waiting, packed = self._waiting.value(), self._matches.value()
        found = self.opened[key] = KeyMatches([*waiting] if waiting else [])
        if packed is not None:
            self._unpack(found, packed)
        if waiting or packed is not None:
            found.timer = found.due(self._nfa)  # it was set when they were stored
        return found

    def _unpack(self, found: KeyMatches, packed: Any) -> None:
        try:
            found.unpack(packed, self._nfa.numbers)
        except KeyError as missing:
            raise IncompatibleState(
                f"there are partial matches that wait in state {missing} of the pattern, which the "
                "pattern does not have",
                hint="Go on with the pattern as it was, or give the operator another uid to start "
                "without partial matches.",
            ) from missing

    def save(self) -> None:
        """Write what has changed to state; from now on state is what counts."""
        scope, waiting, stored = self._ctx.scope, self._waiting, self._matches
        for key, found in self.opened.items():
            if not found.waits and not found.changed:
                continue
            scope.key = key
            if found.waits:
                waiting.update(found.waiting) if found.waiting else waiting.clear()
            if found.changed:
                stored.update(None if found.is_empty() else found.pack(self._nfa.names))
        self.opened.clear()
