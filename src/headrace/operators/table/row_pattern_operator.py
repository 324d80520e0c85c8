"""MATCH_RECOGNIZE with all that the SQL standard has: matches are found one after the other.

Rows come in order as for every pattern. What is different is what is done with them, and that the
end of input decides on matches which could have gone on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, Context
from headrace.core.patterns import Test
from headrace.core.row_patterns import RowPattern
from headrace.core.user_code import RecordFailure
from headrace.errors import HeadraceError
from headrace.operators.cep.keyed_matches import KeyMatches, MatchStore
from headrace.operators.table.match_output import MatchOutput
from headrace.operators.table.match_recognize import MatchRecognizeOperator
from headrace.operators.table.row_conditions import (
    RowConditionReader,
    counts_matches,
    is_plain,
    shifts_of,
)
from headrace.operators.table.row_matcher import FoundMatch, RowMatcher
from headrace.operators.table.row_programs import compiled_program
from headrace.operators.table.row_state import KeyRows, RowStore
from headrace.operators.table.row_threads import Holds, Past, RowContext, Stepper


class RowPatternOperator(MatchRecognizeOperator):
    """Finds a row pattern in the rows of each partition."""

    reader = RowConditionReader

    def output_of(self, pattern: RowPattern) -> MatchOutput:
        return MatchOutput(pattern)

    def matcher(self, ctx: Context) -> RowMatcher:
        pattern = self._written
        assert pattern.term is not None
        self._watermark = MIN_TIMESTAMP
        self._past = Past(pattern.definitions)
        conditions = {name: _all(self.tests(name, ctx)) for name, _ in pattern.definitions}
        plain = frozenset(name for name, over in pattern.definitions if is_plain(name, over))
        stepper = Stepper(compiled_program(pattern.term), self._past, conditions, plain)
        behind, ahead = shifts_of(pattern)
        overs = [pattern.measures, *(over for _, over in pattern.definitions)]
        return RowMatcher(
            stepper, pattern.events.after_match, pattern.skip_to,
            context=RowContext(ctx.processing_time), within_ms=pattern.events.within_ms,
            behind=behind, ahead=ahead, numbered=counts_matches(overs),
        )  # fmt: skip

    def store(self, ctx: Context) -> MatchStore:
        assert self._written.term is not None
        return RowStore(ctx, self._nfa, self._past, self._written.term)

    def receive(self, side: int, batch: Batch) -> None:
        self._watermark = max(self._watermark, self.ctx.watermark)
        super().receive(side, batch)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        super().on_timer(domain, timestamp, key)
        if self.ctx.watermark < MAX_TIMESTAMP:
            self._watermark = self.ctx.watermark

    def _match(self, key: Any, matches: Any, events: Iterable[tuple[int, Any]]) -> None:
        tell = self._teller(key)
        row = None
        was_open = bool(matches.threads)
        try:
            for time, row in events:
                self._nfa.advance(matches, time, tell)
                self._nfa.process(matches, row, time, tell)
        except RecordFailure:
            raise
        except Exception as error:
            raise self._failure(error, row, key) from error
        self._after(key, matches, was_open)

    def _advance(self, key: Any, matches: Any, time: int) -> None:
        was_open = bool(matches.threads)
        try:
            if time == MAX_TIMESTAMP:
                self._nfa.finish(matches, self._time_of_end(matches), self._teller(key))
            else:
                self._nfa.advance(matches, time, self._teller(key))
        except RecordFailure:
            raise
        except Exception as error:
            raise self._failure(error, matches.rows[-1][1], key) from error
        self._after(key, matches, was_open)

    def _failure(self, error: Exception, row: Any, key: Any) -> RecordFailure:
        if isinstance(error, HeadraceError) and error.origin is None:
            error.origin = self._written.at
        return RecordFailure(error, "MATCH_RECOGNIZE", row, key)

    def _time_of_end(self, matches: KeyRows) -> int:
        """Matches that end with the input are not late for those who have seen the watermark."""
        last: int = matches.rows[-1][0]
        return max(last, self._watermark + 1) if self._event_time else last

    def _teller(self, key: Any) -> Callable[[FoundMatch], None]:
        output = self._measures

        def tell(found: FoundMatch) -> None:
            self.ctx.scope.key = key
            for row in output.rows(found):
                self._take(row, found.time, False)

        return tell

    def _after(self, key: Any, matches: KeyRows, was_open: bool) -> None:
        """No timer is left at the end of time for a key that has no match under way."""
        if was_open and not matches.threads:
            self.ctx.scope.key = key
            self.ctx.timers.delete(self._domain, MAX_TIMESTAMP)
            if matches.timer == MAX_TIMESTAMP:
                matches.timer = None

    def _set_next_timer(self, key: Any, found: KeyMatches) -> None:
        due = found.due(self._nfa)
        if due is not None and (found.timer is None or due < found.timer):
            self._set_timer(key, found, due)


def _all(tests: list[Test]) -> Holds:
    parts = [(test.function, test.iterative) for test in tests]

    def holds(row: Any, context: RowContext) -> bool:
        for function, iterative in parts:
            if not (function(row, context) if iterative else function(row)):
                return False
        return True

    return holds
