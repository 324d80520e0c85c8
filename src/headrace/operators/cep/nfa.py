"""Moving the partial matches of a key on with each event, and giving up those that are too old."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.pattern_functions import IterativeCondition
from headrace.core.patterns import Skip
from headrace.operators.cep.automaton import Automaton, Kind
from headrace.operators.cep.decisions import decision, is_iterative, options_of, plan_of
from headrace.operators.cep.limits import MOST_RUNS, Limits, merged, merging_states
from headrace.operators.cep.match_queue import pop, push, reorder
from headrace.operators.cep.shared_buffer import Link, Matches, Run, events_by_stage
from headrace.operators.cep.skipping import survivors
from headrace.operators.cep.stepping import advance_of

TimedOut = tuple[Link, int]
"""The last event of a partial match that has timed out, and when it did."""
_NONE: list[Link] = []

Beginning = tuple[tuple[str, int, int], ...]
"""What a first event does: for which stage it is taken, the number of the state after it or -1, how
many matches are complete."""
_new = tuple.__new__
"""Makes links and runs in half the time their classes take."""


class MatchContext(IterativeCondition.Context):
    """What a condition may see; one object, moved from one partial match to the next."""

    def __init__(self, clock: Callable[[], int]):
        self.current_processing_time = clock  # type: ignore[method-assign]
        self.time = 0
        self.last: Link | None = None
        self.seen: dict[str, list[Any]] | None = None

    def get_events_for_pattern(self, name: str) -> list[Any]:
        if self.seen is None:
            self.seen = events_by_stage(self.last)
        return self.seen.get(name, [])

    def timestamp(self) -> int:
        return self.time

    def current_processing_time(self) -> int:
        raise AssertionError("replaced by the clock")


class Nfa:
    """Runs an automaton; the partial matches themselves are in `Matches`, one for each key."""

    def __init__(self, automaton: Automaton, clock: Callable[[], int], most_runs: int = MOST_RUNS):
        self.automaton = automaton
        states = automaton.states
        self.names = [state.name for state in states]
        self.numbers = {state.name: at for at, state in enumerate(states)}
        self._advance = advance_of(states)
        self._begins = decision(options_of(automaton.start))
        self._first: dict[int, Beginning] = {}
        self._iterative = any(is_iterative(options_of(state)) for state in states)
        self._context = MatchContext(clock)
        self._within = automaton.within_ms
        self._gaps = {at: state.gap_ms for at, state in enumerate(states)
                      if state.gap_ms is not None}  # fmt: skip
        self._skips = automaton.after_match.skip is not Skip.NO_SKIP
        self._limits = Limits(automaton, most_runs)
        self._most_runs, self._suspicious = most_runs, self._limits.suspicious
        self._merging = merging_states(automaton)
        self.limited = self._within is not None or bool(self._gaps)
        """Whether partial matches time out."""
        self.only_within = None if self._gaps else self._within
        """If that is all that limits them: how long after its first event each does."""

    def process(self, matches: Matches, event: Any, time: int) -> list[Link]:
        """Apply an event; the last links of the matches it completes."""
        context, runs = self._context, matches.runs
        if self._iterative:
            context.time = time
            context.last = context.seen = None
        begins = self._begins(event, context)
        if not begins and not runs:
            return _NONE
        kept: list[Run] = []
        done: list[Run] = []
        stamp = (time, matches.sequence)
        changed = self._advance(runs, event, context, stamp, kept, done) if runs else False
        if begins:
            changed = True
            for stage, target, completed in self._first.get(begins) or self._beginning(begins):
                link = _new(Link, (None, stage, stamp, event))
                if target >= 0:
                    kept.append(_new(Run, (target, link, stamp)))
                if completed:
                    done += [Run(-1, link, stamp)] * completed
        return self._settle(matches, kept, done) if changed else _NONE

    def _beginning(self, bits: int) -> Beginning:
        """What a first event leads to, when the edges with these bits hold."""
        plan = plan_of(self.automaton.start, options_of(self.automaton.start), bits)
        found = tuple(
            (step.stage, -1 if step.target is None else self.numbers[step.target.name],
             step.completed)
            for step in plan.steps
        )  # fmt: skip
        self._first[bits] = found
        return found

    def _settle(self, matches: Matches, kept: list[Run], done: list[Run]) -> list[Link]:
        """Store what goes on; of what is complete, tell what may be told already."""
        matches.changed = True
        matches.sequence += 1
        found = _NONE
        if self._merging and len(kept) > 1:
            kept = merged(kept, self._merging)
        if self._skips:
            if done or matches.complete:
                found, kept = self._skip(matches, kept, done)
        elif done:
            found = [run.last for run in done]
        matches.runs = kept
        if not kept and not matches.complete:
            matches.sequence = matches.links = 0
            return found
        matches.links += len(kept) + len(done)
        if len(kept) > self._most_runs:
            self._limits.check_runs(kept)
        if matches.links > self._suspicious:
            self._limits.check_links(matches)
        return found

    def _skip(
        self, matches: Matches, kept: list[Run], done: list[Run]
    ) -> tuple[list[Link], list[Run]]:
        """A match counts only when no partial match that began before it can make it void."""
        after, complete = self.automaton.after_match, list(matches.complete)
        for run in done:
            push(complete, run)
        found = []
        while complete and not (kept and kept[0].start < complete[0].start):
            first = pop(complete)
            kept = survivors(after, first, kept)
            if complete:
                complete = survivors(after, first, complete)
                reorder(complete)
            found.append(first.last)
        matches.complete = complete
        return found, kept

    def advance(self, matches: Matches, time: int) -> tuple[list[tuple[Link, int]], list[TimedOut]]:
        """No event before `time` will come: the matches complete by that, and those too old.

        Each comes with the time at which that was so.
        """
        due = self.next_timeout(matches)
        if due is None or due > time:
            return [], []
        kept: list[Run] = []
        done: list[Run] = []
        expired: list[TimedOut] = []
        ends: dict[int, int] = {}
        for run in matches.runs:
            end = self._end(run)
            if end is None or end > time:
                kept.append(run)
            elif self.automaton.states[run.state].kind is Kind.PENDING:
                ends[id(run.last)] = end
                done.append(Run(-1, run.last, run.start))
            else:
                expired.append((run.last, self._reported_end(run, end, time)))
        found = self._settle(matches, kept, done)
        return [(last, ends.get(id(last), due)) for last in found], expired

    def next_timeout(self, matches: Matches) -> int | None:
        """When the next partial match will be too old."""
        if not matches.runs or not self.limited:
            return None
        if self.only_within is not None:
            return matches.runs[0].start[0] + self.only_within
        ends = [end for end in map(self._end, matches.runs) if end is not None]
        return min(ends, default=None)

    def _reported_end(self, run: Run, end: int, time: int) -> int:
        """When a partial match timed out; the limit between neighbours counts first, as in Flink,
        even if the one for the whole match was reached before it."""
        gap = self._gaps.get(run.state)
        by_gap = time + 1 if gap is None else run.last.stamp[0] + gap
        return by_gap if by_gap <= time else end

    def _end(self, run: Run) -> int | None:
        gap = self._gaps.get(run.state)
        by_gap = None if gap is None else run.last.stamp[0] + gap
        if self._within is None:
            return by_gap
        end = run.start[0] + self._within
        return end if by_gap is None else min(end, by_gap)
