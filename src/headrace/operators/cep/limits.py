"""How much one key may keep of a pattern, and which partial matches it need not keep.

Without a time limit partial matches wait for ever, and where an event may be taken and passed over
they double with each one. A job that fails in words is better than a worker that eats all memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from headrace.core.patterns import Both, Condition, Skip
from headrace.core.user_code import shown
from headrace.errors import InvalidGraph
from headrace.operators.cep.automaton import Automaton, Kind, State
from headrace.operators.cep.boolean import inverse
from headrace.operators.cep.decisions import is_iterative, options_of
from headrace.operators.cep.shared_buffer import Link, Matches, Run

MOST_RUNS = 100_000
"""How many partial matches a key may have."""
_LINKS_PER_RUN = 20
"""How many events those may hold on average."""


class TooMuchKept(InvalidGraph):
    """A key has more partial matches than are allowed."""


class Limits:
    """Watches what a key keeps; counting it all is dear, so that is done now and then."""

    def __init__(self, automaton: Automaton, most_runs: int):
        self._automaton = automaton
        self.most_runs = most_runs
        self._most_links = most_runs * _LINKS_PER_RUN
        self.suspicious = 2 * self._most_links
        """With so many links made since the last count it is time for another one."""

    def check_runs(self, runs: list[Run]) -> None:
        """Refuse too many partial matches."""
        if len(runs) > self.most_runs:
            raise self._refusal(f"{len(runs):,} partial matches", f"{self.most_runs:,}", runs)

    def check_links(self, matches: Matches) -> None:
        """Refuse partial matches that are too long together."""
        seen: set[int] = set()
        runs = [*matches.runs, *matches.complete]
        for run in runs:
            link: Link | None = run.last
            while link is not None and id(link) not in seen:
                seen.add(id(link))
                link = link.before
        matches.links = len(seen)
        if len(seen) > self._most_links:
            what = f"{len(runs):,} partial matches with {len(seen):,} events between them"
            raise self._refusal(what, f"{self._most_links:,} events", runs)

    def _refusal(self, what: str, allowed: str, runs: list[Run]) -> TooMuchKept:
        ((state, count),) = Counter(run.state for run in runs if run.state >= 0).most_common(1)
        stages = " → ".join(self._automaton.stages)
        oldest = runs[0].last
        while oldest.before is not None:
            oldest = oldest.before
        limit = self._automaton.within_ms
        time = "no time limit" if limit is None else f"a time limit of {limit} ms"
        return TooMuchKept(
            f"the pattern {stages} has {what} for one key, more than {allowed}, which is the most "
            f"that is allowed; {count:,} of them wait at stage "
            f"{self._automaton.states[state].stage!r}, the oldest began with {shown(oldest.event)} "
            f"at {oldest.stamp[0]}, and the pattern has {time}",
            hint="Bound them: add within(...), in SQL WITHIN INTERVAL, or make it shorter; use "
            "followed_by instead of followed_by_any, make loops greedy or consecutive, or skip "
            "past the last event after a match. max_partial_matches(n) allows more.",
        )


def merging_states(automaton: Automaton) -> frozenset[int]:
    """The states in which only the partial match that began first matters.

    When matching goes on after the last event of a match, and what a state's future depends on are
    the events to come, then all partial matches in the state become complete with the same event,
    and the one that began first makes the others void. Time limits end older ones earlier, and
    conditions that look back tell them apart, so there must be neither.
    """
    limited = automaton.within_ms is not None or any(
        state.gap_ms is not None for state in automaton.states
    )
    if limited or automaton.after_match.skip is not Skip.PAST_LAST_EVENT:
        return frozenset()
    looks_back = {state for state in automaton.states if is_iterative(options_of(state))}
    numbers = {state: at for at, state in enumerate(automaton.states)}
    return frozenset(
        numbers[state]
        for state in automaton.states
        if state.kind is Kind.NORMAL and not looks_back & _reached([state])
    )


def doubling_stage(automaton: Automaton) -> str | None:
    """A stage at which partial matches double with each event that fits, and never time out.

    There an event can be used in two ways that both lead back: taken, and passed over.
    """
    if automaton.within_ms is not None:
        return None
    for state in automaton.states:
        ways = [option for option in options_of(state) if state in _reached([option.edge.target])]
        if any(not _exclude(*pair) for pair in combinations([way.holds for way in ways], 2)):
            return state.stage
    return None


def _exclude(first: Condition, second: Condition) -> bool:
    """Whether two conditions cannot both hold, as far as can be seen."""
    others = _all_of(second)
    return any(inverse(part) in others for part in _all_of(first))


def _all_of(condition: Condition) -> list[Condition]:
    if isinstance(condition, Both):
        return [*_all_of(condition.first), *_all_of(condition.second)]
    return [condition]


def _reached(states: Iterable[State]) -> set[State]:
    found: set[State] = set()
    left = list(states)
    while left:
        state = left.pop()
        if state not in found:
            found.add(state)
            left += [edge.target for edge in state.edges]
    return found


def merged(runs: list[Run], merging: frozenset[int]) -> list[Run]:
    """Without partial matches that come after another one in a state that merges them."""
    seen: set[int] = set()
    kept = []
    for run in runs:
        state = run[0]
        if state in merging:
            if state in seen:
                continue
            seen.add(state)
        kept.append(run)
    return kept
