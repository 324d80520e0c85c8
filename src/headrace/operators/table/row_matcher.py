"""Finding the matches of a row pattern one after the other, as the SQL standard defines them.

From a starting row the most preferred match is looked for; where the next one may start follows
from it. Rows are kept from the starting row on, so a later start reads them once more. Everything
that is remembered of a key is in `KeyRows`, and can be stored after every row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.core.patterns import AfterMatch, Skip
from headrace.errors import InvalidGraph
from headrace.operators.table.row_programs import AtEnd
from headrace.operators.table.row_state import KeyRows
from headrace.operators.table.row_threads import (
    RowContext,
    Step,
    Stepper,
    TakenRow,
    Thread,
    rows_of,
    too_many,
)

MOST_ROWS = 1_000_000
"""How many rows a match that is not decided may have."""


class FoundMatch(NamedTuple):
    """A match, or with the number 0 a row that is in none."""

    rows: list[TakenRow]
    """None at all: an empty match."""
    number: int
    start: Any
    """The row it starts with."""
    time: int
    """When it was known."""
    context: RowContext
    """Knows the rows around it."""


Tell = Callable[[FoundMatch], None]


class RowMatcher:
    """Runs a program over the rows of keys."""

    def __init__(
        self, stepper: Stepper, after: AfterMatch, skip_to: tuple[str, ...], *,
        context: RowContext, within_ms: int | None = None, behind: int = 0, ahead: int = 0,
        numbered: bool = False, most_rows: int = MOST_ROWS,
    ):  # fmt: skip
        self._stepper = stepper
        self._after = after
        self._skip_to = skip_to
        self._context = context
        self._within = within_ms
        self._behind = behind
        """How many rows before the start are needed, for PREV."""
        self._ahead = ahead
        """How many rows must follow on one before it is tried, for NEXT."""
        self.keeps_numbers = numbered or stepper.program.anchored
        """Whether a key's rows or matches are counted on and on."""
        self._most_rows = most_rows

    def next_timeout(self, state: KeyRows) -> int | None:
        """When the match will be as long in time as it may be."""
        if self._within is None or not state.begun or state.next < state.end:
            return None
        start: int = state.rows[state.start - state.first][0]
        return start + self._within

    def process(self, state: KeyRows, row: Any, time: int, tell: Tell) -> None:
        """A row has come."""
        state.changed = True
        state.rows.append((time, row))
        if len(state.rows) > self._most_rows:
            raise too_many(f"{len(state.rows)} rows")
        self._run(state, time, tell, ended=False)

    def advance(self, state: KeyRows, time: int, tell: Tell) -> None:
        """No row before `time` will come: decide on what is too old by then."""
        while state.threads:
            due = self.next_timeout(state)
            if due is None or due > time:
                return
            left = [each for each in state.threads if self._awaits_end(each)]
            if len(left) == len(state.threads):
                return
            state.changed = True
            state.threads = left
            if not left:
                self._decide(state, due, tell)
                self._run(state, due, tell, ended=False)

    def finish(self, state: KeyRows, time: int, tell: Tell) -> None:
        """No row will come any more."""
        state.changed = True
        self._run(state, time, tell, ended=True)

    def _awaits_end(self, thread: Thread) -> bool:
        return isinstance(self._stepper.program.instructions[thread.place], AtEnd)

    def _run(self, state: KeyRows, now: int, tell: Tell, *, ended: bool) -> None:
        while True:
            if not state.begun and not self._begin(state):
                return
            self._move(state, ended)
            if state.threads:
                if not ended:
                    return
                self._take(state, self._stepper.ended(state.threads))
                state.threads = []
            self._decide(state, now, tell)

    def _begin(self, state: KeyRows) -> bool:
        if state.start >= state.end:
            return False
        state.begun, state.is_done, state.best = True, False, None
        state.next = state.start
        self._take(state, self._stepper.begun(state.start == 0))
        return True

    def _take(self, state: KeyRows, step: Step) -> None:
        state.threads = step.threads
        if step.is_done:
            state.is_done, state.best = True, step.done

    def _move(self, state: KeyRows, ended: bool) -> None:
        """Try the rows that there are."""
        context, rows, first = self._context, state.rows, state.first
        context.rows, context.first, context.match_number = rows, first, state.found + 1
        upto = state.end if ended else state.end - self._ahead
        limit = None if self._within is None else rows[state.start - first][0] + self._within
        threads, at = state.threads, state.next
        while threads and at < upto:
            time, row = rows[at - first]
            if limit is not None and time >= limit:
                threads = []
                break
            context.time, context.number = time, at
            step = self._stepper.taken(threads, row, (time, at), context)
            threads = step.threads
            if step.is_done:
                state.is_done, state.best = True, step.done
            at += 1
        state.threads, state.next = threads, at

    def _decide(self, state: KeyRows, now: int, tell: Tell) -> None:
        """Tell of the match, or that there is none, and go on where the next one may start."""
        start = state.rows[state.start - state.first][1]
        context = self._context
        context.rows, context.first = state.rows, state.first
        after = state.start + 1
        if state.is_done:
            taken = rows_of(state.best)
            state.found += 1
            tell(FoundMatch(taken, state.found, start, now, context))
            if taken:
                state.mapped = max(state.mapped, taken[-1].stamp[1])
                after = self._next_start(taken)
        elif state.start > state.mapped:
            tell(FoundMatch([], 0, start, now, context))
        state.start, state.begun, state.is_done, state.best = after, False, False, None
        self._forget(state)

    def _next_start(self, rows: list[TakenRow]) -> int:
        skip = self._after.skip
        if skip is Skip.TO_NEXT:
            return rows[0].stamp[1] + 1
        if skip is Skip.PAST_LAST_EVENT:
            return rows[-1].stamp[1] + 1
        found = [row for row in rows if row.stage in self._skip_to]
        if not found:
            raise InvalidGraph(
                f"a match has no row of variable {self._after.stage}, to which matching was to "
                "skip",
                hint="Skip to a variable that every match has rows of, or to a SUBSET of which "
                "there is always one.",
            )
        target = found[0 if skip is Skip.TO_FIRST else -1].stamp[1]
        if target == rows[0].stamp[1]:
            raise InvalidGraph(
                f"matching was to skip to variable {self._after.stage}, with which the match "
                "itself begins: the same match would be found for ever",
                hint="Skip to a later variable, or write AFTER MATCH SKIP PAST LAST ROW.",
            )
        return target

    def _forget(self, state: KeyRows) -> None:
        """Rows before the next start are not needed any more, but for those PREV may ask for."""
        needed = min(state.start, state.end) - self._behind
        if needed > state.first:
            del state.rows[: needed - state.first]
            state.first = needed
        if not state.rows and not self.keeps_numbers:
            state.first = state.start = state.next = state.found = 0
            state.mapped = -1

    def is_empty(self, state: KeyRows) -> bool:
        """Whether nothing of the key has to be remembered."""
        return not state.rows and not (self.keeps_numbers and (state.first or state.found))
