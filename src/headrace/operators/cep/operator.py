"""Finding a pattern in the events of each key.

In event time events wait until the watermark has come to them and are then matched in order of
their time; in processing time they are matched as they come. A key has at most one timer that
matters: for its first waiting event or for the first partial match that will be too old.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cmp_to_key
from itertools import groupby
from operator import itemgetter
from typing import Any

from headrace.core.functions import Function
from headrace.core.isolation import isolated
from headrace.core.operator import (
    EVENT_TIME,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    PROCESSING_TIME,
    Batch,
    Context,
)
from headrace.core.output_tag import OutputTag
from headrace.core.pattern_functions import (
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from headrace.core.patterns import EventPattern
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidGraph
from headrace.operators.base import FunctionOperator, SideOutputs, Stamps
from headrace.operators.cep.compiler import compiled
from headrace.operators.cep.keyed_matches import KeyMatches, MatchStore
from headrace.operators.cep.limits import MOST_RUNS, TooMuchKept
from headrace.operators.cep.nfa import Nfa
from headrace.operators.cep.shared_buffer import Link, Matches, events_by_stage
from headrace.operators.function_context import FunctionRuntimeContext

LATE_RECORDS = "numLateRecordsDropped"
_time_of = itemgetter(0)
Comparator = Callable[[Any, Any], int]


class _ResultContext(PatternProcessFunction.Context):
    """The context of one match; one object, moved from match to match."""

    def __init__(self, ctx: Context, sides: SideOutputs, event_time: bool):
        self._ctx = ctx
        self._sides = sides
        self._event_time = event_time
        self.time = MIN_TIMESTAMP

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self._sides.add((output_tag, value), self.time if self._event_time else None)


class PatternOperator(FunctionOperator):
    """Hands each match of a pattern to a PatternProcessFunction."""

    def __init__(
        self, function: PatternProcessFunction[Any, Any], pattern: EventPattern, *,
        event_time: bool = True, comparator: Comparator | None = None,
        late_tag: OutputTag | None = None, most_runs: int = MOST_RUNS,
        conditions: tuple[Function, ...] = (),
    ):  # fmt: skip
        super().__init__(function, keyed=True)
        self._pattern = pattern
        self._event_time = event_time
        self._comparator = comparator
        self._late_tag = late_tag
        self._most_runs = most_runs
        self._conditions = conditions

    def open(self, ctx: Context) -> None:
        self._sides = SideOutputs()
        self._dropped = ctx.metrics.counter(LATE_RECORDS)
        self._nfa = self.matcher(ctx)
        self._store = self.store(ctx)
        self._result = _ResultContext(ctx, self._sides, self._event_time)
        self._told_of_timeouts = isinstance(self.function, TimedOutPartialMatchHandler)
        self._domain = EVENT_TIME if self._event_time else PROCESSING_TIME
        for condition in self._conditions:
            condition.open(FunctionRuntimeContext(ctx, False))
        self._out: list[Any] = []
        self._out_stamps: Stamps = []
        super().open(ctx)

    def matcher(self, ctx: Context) -> Any:
        """What moves the partial matches of a key on."""
        return Nfa(compiled(self._pattern), ctx.processing_time, self._most_runs)

    def store(self, ctx: Context) -> MatchStore:
        """What keeps them."""
        return MatchStore(ctx, self._nfa)

    def close(self) -> None:
        for condition in self._conditions:
            condition.close()
        super().close()

    # Events.

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        count = len(batch.values)
        if self._event_time:
            stamps = batch.timestamps or [None] * count
            self._wait(batch.keys, batch.values, stamps, self.ctx.watermark)
        elif self._comparator is not None:
            now: Stamps = [self.ctx.processing_time()] * count
            self._wait(batch.keys, batch.values, now, MIN_TIMESTAMP)
        else:
            self._match_at_once(batch.keys, batch.values)
        self._send()

    def _wait(self, keys: list[Any], values: list[Any], stamps: Stamps, late: int) -> None:
        """Keep events until their time has come; those up to `late` come too late."""
        # The hot loop: most events find their key open and its timer set.
        opened, load = self._store.opened, self._store.load
        for key, value, stamp in zip(keys, values, stamps, strict=True):
            if stamp is None or stamp <= late:
                self._refuse(key, value, stamp)
                continue
            found = opened.get(key) or load(key)
            found.waits = True
            found.waiting.append((stamp, value))
            if found.timer is None or stamp < found.timer:
                self._set_timer(key, found, stamp)

    def _refuse(self, key: Any, value: Any, stamp: int | None) -> None:
        """An event has no time, or comes too late."""
        if stamp is None or stamp == MIN_TIMESTAMP:
            raise RecordFailure(_no_timestamp(), "CEP.pattern", value, key)
        if self._late_tag is not None:
            self._sides.add((self._late_tag, value), stamp)
        else:
            self._dropped.inc()

    def _match_at_once(self, keys: list[Any], values: list[Any]) -> None:
        now, of = self.ctx.processing_time(), self._store.of
        for key, value in zip(keys, values, strict=True):
            found = of(key)
            self._match(key, found, ((now, value),))
            self._set_next_timer(key, found)

    # Time.

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        found = self._store.of(key)
        found.timer = None
        upto = self.ctx.watermark if self._event_time else timestamp
        if found.waiting:
            self._match(key, found, self._due(found, upto))
        if found.runs:
            self._advance(key, found, upto)
        if found.waiting or found.runs:
            self._set_next_timer(key, found)
        self._send()

    def _due(self, found: KeyMatches, upto: int) -> Iterable[tuple[int, Any]]:
        """Take the events out whose time has come, in the order they are to be matched in."""
        waiting = found.waiting
        waiting.sort(key=_time_of)
        if waiting[0][0] > upto:
            return ()
        found.waits = True
        due, found.waiting = waiting, []
        if waiting[-1][0] > upto:
            at = bisect_right(waiting, upto, key=_time_of)
            due, found.waiting = waiting[:at], waiting[at:]
        if self._comparator is None:
            return due
        order = cmp_to_key(self._comparator)
        return [item for _, together in groupby(due, _time_of)
                for item in sorted(together, key=lambda item: order(item[1]))]  # fmt: skip

    def _set_next_timer(self, key: Any, found: KeyMatches) -> None:
        due = found.due(self._nfa)
        if due is not None and due < MAX_TIMESTAMP and (found.timer is None or due < found.timer):
            self._set_timer(key, found, due)

    def _set_timer(self, key: Any, found: KeyMatches, time: int) -> None:
        self.ctx.scope.key = key
        self.ctx.timers.register(self._domain, time)
        found.timer = time

    # Matches.

    def _match(self, key: Any, matches: Matches, events: Iterable[tuple[int, Any]]) -> None:
        """Apply events to a key's partial matches, in this order."""
        process, limited, within = self._nfa.process, self._nfa.limited, self._nfa.only_within
        event = None
        try:
            for time, event in events:
                runs = matches.runs
                if limited and runs and (within is None or runs[0].start[0] + within <= time):
                    self._advance(key, matches, time)
                for last in process(matches, event, time):
                    self._hand_over(key, last, time)
        except RecordFailure:
            raise
        except TooMuchKept as error:
            raise RecordFailure(error, "matching", event, key) from error
        except Exception as error:
            raise RecordFailure(error, "a condition of the pattern", event, key) from error

    def _advance(self, key: Any, matches: Matches, time: int) -> None:
        """Give up what is too old, and tell of what is complete by now."""
        due = self._nfa.next_timeout(matches)
        if due is None or due > time:
            return
        ends, expired = self._nfa.advance(matches, time)
        for last, end in ends:
            self._hand_over(key, last, end)
        if self._told_of_timeouts:
            for last, end in expired:
                self._hand_over(key, last, end, timed_out=True)

    def _hand_over(self, key: Any, last: Link, time: int, *, timed_out: bool = False) -> None:
        call = "process_timed_out_match" if timed_out else "process_match"
        match = events_by_stage(last)
        self._result.time = time
        self.ctx.scope.key = key
        try:
            for item in getattr(self.function, call)(match, self._result) or ():
                self._take(item, time, timed_out)
        except Exception as error:
            raise RecordFailure(error, call, match, key) from error

    def _take(self, item: Any, time: int, timed_out: bool) -> None:
        stamp = time if self._event_time else None
        if item.__class__ is tuple and len(item) == 2 and item[0].__class__ is OutputTag:
            self._sides.add(item, stamp)
            return
        if timed_out:
            raise InvalidGraph(
                "process_timed_out_match() yielded a result for the main output, which only has "
                "whole matches",
                hint="Send it to a side output: yield tag, value.",
            )
        # Other matches may hold the same events.
        self._out.append(item if self.reuses_objects else isolated(item))
        self._out_stamps.append(stamp)

    def _send(self) -> None:
        if self._out:
            out, stamps = self._out, self._out_stamps
            self._out, self._out_stamps = [], []
            self.ctx.emit(out, stamps if self._event_time else None)
        self._sides.flush(self.ctx)

    def end_batch(self) -> None:
        self._store.save()


def _no_timestamp() -> InvalidGraph:
    return InvalidGraph(
        "an event without a timestamp came to a pattern in event time",
        hint="Call assign_timestamps_and_watermarks(...) before, or in_processing_time() on the "
        "pattern stream.",
    )
