"""What is remembered of the rows of each key while a row pattern is looked for in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.core.operator import MAX_TIMESTAMP, Context
from headrace.core.row_pattern_terms import Term, variables_of
from headrace.core.types import Types
from headrace.errors import IncompatibleState
from headrace.operators.cep.keyed_matches import KeyMatches, MatchStore
from headrace.operators.table.row_threads import Past, TakenRow, Thread

if TYPE_CHECKING:
    from headrace.operators.table.row_matcher import RowMatcher


class KeyRows(KeyMatches):
    """What is remembered of a key: rows that may be needed, and the match being looked for."""

    __slots__ = ("begun", "best", "first", "found", "is_done", "mapped", "next", "rows", "start")

    def __init__(self, waiting: list[tuple[int, Any]]):
        super().__init__(waiting)
        self.rows: list[tuple[int, Any]] = []
        self.first = 0
        """The number of the first one of them in the partition."""
        self.start = 0
        """The number of the row the match starts with."""
        self.next = 0
        """The number of the next row to be tried."""
        self.begun = False
        self.best: TakenRow | None = None
        """The last row of the best match so far, if there is one: `is_done`."""
        self.is_done = False
        self.found = 0
        """How many matches there were."""
        self.mapped = -1
        """The number of the last row that is in a match."""

    @property
    def end(self) -> int:
        return self.first + len(self.rows)

    @property
    def threads(self) -> list[Thread]:
        """Under the name that partial matches have in `KeyMatches`."""
        return self.runs  # type: ignore[return-value]

    @threads.setter
    def threads(self, threads: list[Thread]) -> None:
        self.runs = threads  # type: ignore[assignment]

    def due(self, matcher: Any) -> int | None:
        """When there is something to do for the key; an open match waits for the end of input."""
        timeout = matcher.next_timeout(self) if self.threads else None
        if self.threads and timeout is None:
            timeout = MAX_TIMESTAMP
        first = min((time for time, _ in self.waiting), default=None)
        return min((each for each in (timeout, first) if each is not None), default=None)

    def pack(self, names: list[str]) -> Any:
        """In the form that is stored: rows once, and links by their positions."""
        links: list[TakenRow] = []
        position: dict[int, int] = {}
        lasts = [thread.last for thread in self.threads]
        for last in (*lasts, self.best):
            _place(last, links, position)
        place = {number: at for at, number in enumerate(names)}
        return (
            self.rows, self.first, self.start, self.next, self.begun, self.found, self.mapped,
            [(position.get(id(link.before), -1), place[link.stage], link.stamp[1], link.excluded)
             for link in links],
            [(thread.place, thread.registers, position.get(id(thread.last), -1))
             for thread in self.threads],
            position.get(id(self.best), -1) if self.is_done else None,
        )  # fmt: skip

    def restore(self, packed: Any, names: list[str], past: Past) -> None:
        """From the form that is stored."""
        (self.rows, self.first, self.start, self.next, self.begun, self.found, self.mapped,
         links, threads, best) = packed  # fmt: skip
        self.rows = list(self.rows)
        made: list[TakenRow] = []
        for before, stage, number, excluded in links:
            time, row = self.rows[number - self.first]
            last = None if before < 0 else made[before]
            made.append(TakenRow(last, names[stage], (time, number), row, excluded))
        ends = [*made, None]  # the position -1 is that of no row
        self.threads = [Thread(place, tuple(registers), ends[at], past.of(ends[at]))
                        for place, registers, at in threads]  # fmt: skip
        self.is_done = best is not None
        self.best = ends[best] if best is not None else None


def _place(last: TakenRow | None, links: list[TakenRow], position: dict[int, int]) -> None:
    fresh = []
    while last is not None and id(last) not in position:
        fresh.append(last)
        last = last.before
    for link in reversed(fresh):
        position[id(link)] = len(links)
        links.append(link)


_NUMBER, _ANYTHING = Types.LONG(), Types.PICKLED_BYTE_ARRAY()


class RowStore(MatchStore):
    """Finds what is remembered for a key: the pattern, and what `KeyRows.pack` gives."""

    packed_type = Types.TUPLE(
        [
            Types.STRING(),
            Types.LIST(Types.TUPLE([_NUMBER, _ANYTHING])),
            *(_NUMBER, _NUMBER, _NUMBER, Types.BOOLEAN(), _NUMBER, _NUMBER),
            Types.LIST(Types.TUPLE([_NUMBER, _NUMBER, _NUMBER, Types.BOOLEAN()])),
            Types.LIST(Types.TUPLE([_NUMBER, _ANYTHING, _NUMBER])),
            _NUMBER,
        ]
    )

    def __init__(self, ctx: Context, matcher: RowMatcher, past: Past, term: Term):
        super().__init__(ctx, matcher)  # type: ignore[arg-type]
        self._matcher = matcher
        self._past = past
        self._pattern = str(term)
        self._variables = list(variables_of(term))

    def load(self, key: Any) -> KeyRows:
        self._ctx.scope.key = key
        waiting, packed = self._waiting.value(), self._matches.value()
        found = KeyRows([*waiting] if waiting else [])
        self.opened[key] = found
        if packed is not None:
            self._restore(found, packed)
        if waiting or packed is not None:
            found.timer = found.due(self._matcher)  # it was set when they were stored
        return found

    def _restore(self, found: KeyRows, packed: Any) -> None:
        pattern, *rest = packed
        if pattern != self._pattern:
            raise IncompatibleState(
                f"there is a match under way of the pattern {pattern}, but PATTERN is "
                f"{self._pattern}",
                hint="Go on with the query as it was, or start without its state.",
            )
        found.restore(rest, self._variables, self._past)

    def save(self) -> None:
        scope, waiting, stored = self._ctx.scope, self._waiting, self._matches
        for key, found in self.opened.items():
            assert isinstance(found, KeyRows)
            scope.key = key
            if found.waits:
                waiting.update(found.waiting) if found.waiting else waiting.clear()
            if found.changed:
                kept = None
                if not self._matcher.is_empty(found):
                    kept = (self._pattern, *found.pack(self._variables))
                stored.update(kept)
        self.opened.clear()
