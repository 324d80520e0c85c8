"""What a pattern keeps is bounded: by its time limit, by merging, or by an error in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from headrace.common import Time
from headrace.core.patterns import AfterMatch, Skip
from headrace.datastream import DataStream
from headrace.errors import InvalidGraph
from headrace.operators.cep.compiler import compiled
from headrace.operators.cep.limits import MOST_RUNS
from headrace.operators.cep.nfa import Nfa
from headrace.operators.cep.shared_buffer import Matches, chain
from headrace.testing import OperatorHarness
from tests.cep.naive import ANY, RELAXED, STRICT, Stage, pattern_of
from tests.cep.test_naive import stage_lists

PAST_LAST = AfterMatchSkipStrategy.skip_past_last_event()


def is_(letter: str) -> Any:
    return lambda event: event[1] == letter


def loop_and_loop(after: AfterMatchSkipStrategy | None = None) -> Pattern:
    """A* A* B: where the first loop ends and the second begins is anybody's guess."""
    first = Pattern.begin("a", after).where(is_("a")).one_or_more()
    second = first.followed_by("more").where(is_("a")).one_or_more()
    return second.followed_by("b").where(is_("b"))


def harness(pattern: Pattern, most: int = MOST_RUNS) -> OperatorHarness:
    def build(events: DataStream) -> DataStream:
        found = CEP.pattern(events.key_by(lambda event: event[0]), pattern)
        return found.max_partial_matches(most).select(len)

    return OperatorHarness(build)


def test_without_a_time_limit_the_job_fails_and_says_where() -> None:
    with harness(loop_and_loop(), 2000) as run:
        run.send_all([("k7", "a")] * 300, range(300))
        with pytest.raises(InvalidGraph, match="partial matches for one key") as caught:
            run.advance_watermark(1000)
    message = str(caught.value)
    for part in (
        "a → more → b", "more than 2,000", "of them wait at stage ", "no time limit",
        "key:    'k7'", "began with ('k7', 'a') at 0", "within(...)", "WITHIN INTERVAL",
        "max_partial_matches",
    ):  # fmt: skip
        assert part in message


def test_doubling_is_stopped_before_memory_is_full() -> None:
    """Each event may be taken and passed over: after 17 of them the limit is reached."""
    pattern = Pattern.begin("a").one_or_more().allow_combinations()
    with harness(pattern.next("b").where(is_("b"))) as run:
        run.send_all([("k", "a")] * 1000, range(1000))
        with pytest.raises(InvalidGraph, match="more than 100,000"):
            run.advance_watermark(1000)


def combinations() -> Pattern:
    return Pattern.begin("all").where(is_("a")).one_or_more().allow_combinations()


def test_it_is_said_before_the_job_runs(caplog: pytest.LogCaptureFixture) -> None:
    harness(combinations().next("b"))
    (told,) = caplog.messages
    assert "all → b has no time limit" in told
    assert "test_limits.py" in told
    assert "'all' may take an event or pass it over" in told
    assert "Add within(...)" in told


@pytest.mark.parametrize("pattern", [
    combinations().next("b").within(Time.seconds(1)),
    loop_and_loop(),
    Pattern.begin("a").where(is_("a")).followed_by_any("b").where(is_("b")).followed_by_any("c"),
    Pattern.begin("a").one_or_more().consecutive().greedy().next("b").where(is_("b")),
], ids=["with a limit", "two loops", "any follower", "greedy"])  # fmt: skip
def test_nothing_is_said_of_patterns_that_do_not_double(
    pattern: Pattern, caplog: pytest.LogCaptureFixture
) -> None:
    harness(pattern)
    assert caplog.messages == []


def looks_back(event: Any, context: Any) -> bool:
    return event[1] == "a" and context.timestamp() >= 0


def test_few_partial_matches_that_grow_long_are_stopped_too() -> None:
    """Each of n partial matches holds up to n events: that is more than their number tells."""
    loop = Pattern.begin("a").where(looks_back).one_or_more().greedy().consecutive()
    with harness(loop.next("b").where(is_("b")), 1000) as run:
        run.send_all([("k", "a")] * 900, range(900))
        with pytest.raises(InvalidGraph, match=r"283 partial matches with 40,186 events"):
            run.advance_watermark(1000)


def test_also_when_state_is_restored_in_between() -> None:
    loop = Pattern.begin("a").where(looks_back).one_or_more().greedy().consecutive()
    with harness(loop.next("b").where(is_("b")), 1000) as run:
        run.send_all([("k", "a")] * 150, range(150))
        run.advance_watermark(150)
        run.crash()
        run.send_all([("k", "a")] * 300, range(151, 451))
        with pytest.raises(InvalidGraph, match="events between them"):
            run.advance_watermark(1000)


def test_a_time_limit_bounds_what_is_kept_whatever_the_length() -> None:
    pattern = loop_and_loop().within(Time.milliseconds(10))
    with harness(pattern) as run:
        kept = []
        for at in range(0, 2000, 100):
            run.send_all([("k", "a")] * 100, range(at, at + 100))
            run.advance_watermark(at + 99)
            _, events, links, runs, _ = run.state("partial-matches", "k")
            kept.append((len(events), len(links), len(runs)))
        assert kept[0][0] == 10
        assert set(kept) == {kept[0]}
        assert run.timers() != []


def test_memory_depends_on_the_time_limit_only() -> None:
    """Ten times the stream, the same number of objects left at its end."""

    def kept(events: int) -> int:
        pattern = Pattern.begin("a").where(is_("a")).followed_by("b").where(is_("b"))
        with harness(pattern.within(Time.milliseconds(50))) as run:
            for at in range(0, events, 500):
                letters = ("ab"[turn % 7 == 0] for turn in range(500))
                run.send_all([(turn % 20, letter) for turn, letter in enumerate(letters)],
                             range(at, at + 500))  # fmt: skip
                run.advance_watermark(at + 499)
                run.take_outputs()
            stored = run.state_of("partial-matches").values()
            return sum(len(links) for _, _, links, _, _ in stored) + len(run.timers())

    assert kept(1_000) == kept(10_000) > 0


def processed(nfa: Nfa, letters: str) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """How many partial matches there are after each letter, and the matches it completes."""
    state = Matches()
    for at, letter in enumerate(letters):
        ends = nfa.process(state, (at, letter), at)
        found = [(link.event[0], link.stage) for last in ends for link in chain(last)]
        yield len(state.runs), found


def nfa_of(pattern: Pattern) -> Nfa:
    return Nfa(compiled(pattern.plan()), lambda: 0)


def test_partial_matches_with_the_same_future_are_one() -> None:
    """With matching going on past the last event, A* A* B over a long run of A costs nothing."""
    nfa = nfa_of(loop_and_loop(PAST_LAST))
    seen = list(processed(nfa, "a" * 3000 + "bab"))
    assert max(count for count, _ in seen) < 10
    assert [len(found) for _, found in seen if found] == [3001]


@pytest.mark.parametrize("within", [True, False])
def test_time_limits_keep_them_apart(within: bool) -> None:
    pattern = loop_and_loop(PAST_LAST)
    nfa = nfa_of(pattern.within(Time.seconds(1)) if within else pattern)
    *_, (count, _) = processed(nfa, "a" * 20)
    assert (count > 20) is within


def test_conditions_that_look_back_keep_them_apart() -> None:
    pattern = Pattern.begin("a", PAST_LAST).where(is_("a")).followed_by("b").where(
        lambda event, context: len(list(context.get_events_for_pattern("a"))) > 1
    )  # fmt: skip
    *_, (count, _) = processed(nfa_of(pattern), "a" * 20)
    assert count == 20


LOOPS = st.builds(
    Stage, st.sampled_from(["a", "b", "ab", "abc"]),
    st.sampled_from([STRICT, RELAXED, ANY]), st.just(1), st.just(1),
    st.sampled_from([STRICT, RELAXED, ANY]), optional=st.booleans(),
)  # fmt: skip


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Bounded stages as in the test against the naive matcher, then loops."""
    pattern = pattern_of(draw(stage_lists()), None)
    for number, stage in enumerate(draw(st.lists(LOOPS, max_size=2))):
        letters = stage.letters
        pattern = getattr(pattern, stage.contiguity)(f"loop {number}").one_or_more()
        pattern = pattern.where(lambda event, letters=letters: event[1] in letters)
        how = draw(st.sampled_from(["", "consecutive", "allow_combinations", "greedy"]))
        pattern = getattr(pattern, how)() if how else pattern
        if stage.optional and (number == 0 or not _is_greedy(pattern.get_previous())):
            pattern = pattern.optional()
    return pattern


def _is_greedy(pattern: Pattern | None) -> bool:
    repetition = None if pattern is None else pattern.parts()[-1].repetition
    return repetition is not None and repetition.greedy


@settings(max_examples=400, deadline=None)
@given(pattern=patterns(), letters=st.text("abcd", min_size=1, max_size=9))
def test_merging_changes_no_match(pattern: Pattern, letters: str) -> None:
    plan = replace(pattern.plan(), after_match=AfterMatch(Skip.PAST_LAST_EVENT))
    merging, keeping = (Nfa(compiled(plan), lambda: 0) for _ in range(2))
    assert merging._merging or len(plan.parts) == 1
    keeping._merging = frozenset()
    expected = [found for _, found in processed(keeping, letters)]
    assert [found for _, found in processed(merging, letters)] == expected
