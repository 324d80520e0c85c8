"""The automaton finds what a matcher finds that tries everything."""

from __future__ import annotations

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.operators.cep.compiler import compiled
from headrace.operators.cep.nfa import Nfa
from headrace.operators.cep.shared_buffer import Matches, chain
from tests.cep.naive import ANY, RELAXED, STRICT, Assignment, Stage, matches, pattern_of

LETTERS = st.sampled_from(["a", "b", "c", "ab", "bc"])
CONTIGUITIES = st.sampled_from([STRICT, RELAXED, ANY])


@st.composite
def stage_lists(draw: st.DrawFn) -> list[Stage]:
    stages: list[Stage] = []
    for number in range(draw(st.integers(1, 3))):
        least = draw(st.sampled_from([1, 1, 2]))
        most = least + draw(st.sampled_from([0, 0, 1]))
        single = number > 0 and stages[-1].most == 1 and not stages[-1].optional
        forbidden = draw(st.sampled_from(["", "", "", "d", "c"])) if single and most == 1 else ""
        stages.append(Stage(
            draw(LETTERS), draw(CONTIGUITIES), least, most, draw(CONTIGUITIES),
            optional=not forbidden and draw(st.sampled_from([False, False, True])),
            forbidden=forbidden,
        ))  # fmt: skip
    return stages


def found_by_automaton(
    stages: list[Stage], letters: str, times: list[int], within: int | None
) -> list[Assignment]:
    nfa = Nfa(compiled(pattern_of(stages, within).plan()), lambda: 0)
    state, found = Matches(), []
    for at, (letter, time) in enumerate(zip(letters, times, strict=True)):
        nfa.advance(state, time)
        ends = nfa.process(state, (at, letter), time)
        found += [tuple((link.event[0], int(link.stage)) for link in chain(last)) for last in ends]
    return found


@settings(max_examples=300, deadline=None)
@given(
    stages=stage_lists(),
    letters=st.text("abcd", min_size=1, max_size=6),
    gaps=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    within=st.sampled_from([None, 1, 3, 6]),
)
@example([Stage("a", least=1, most=2, inner=ANY), Stage("b")], "aaab", [1] * 6, None)
def test_like_a_naive_matcher(
    stages: list[Stage], letters: str, gaps: list[int], within: int | None
) -> None:
    times = [sum(gaps[: at + 1]) for at in range(len(letters))]
    expected = Counter(matches(stages, letters, times, within))
    assert Counter(found_by_automaton(stages, letters, times, within)) == expected
