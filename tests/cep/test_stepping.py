"""The generated step of a pattern: questions written out, or looked up in a table."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep import Pattern
from headrace.operators.cep import stepping
from headrace.operators.cep.compiler import compiled
from headrace.operators.cep.nfa import Nfa
from headrace.operators.cep.stepping import _Writer
from tests.cep.test_limits import patterns, processed


def is_(letter: str) -> Any:
    return lambda event: event[1] == letter


def nfa_of(pattern: Pattern, most_ends: int) -> Nfa:
    with patch.object(stepping, "_MOST_ENDS", most_ends):
        return Nfa(compiled(pattern.plan()), lambda: 0)


@settings(max_examples=200, deadline=None)
@given(pattern=patterns(), letters=st.text("abcd", min_size=1, max_size=7))
def test_both_ways_step_alike(pattern: Pattern, letters: str) -> None:
    written, looked_up = nfa_of(pattern, 10_000), nfa_of(pattern, 0)
    assert list(processed(written, letters)) == list(processed(looked_up, letters))


def test_a_state_with_many_ways_out_is_looked_up() -> None:
    """Each of the stages may be missing: any of their conditions may hold, or not."""
    pattern = Pattern.begin("start").where(is_("s"))
    for letter in "abcdefgh":
        pattern = pattern.followed_by_any(letter).where(is_(letter)).optional()
    last = pattern.followed_by_any("last").where(is_("z"))
    source = _Writer(compiled(last.plan()).states).source()
    assert "moves" in source
    assert len(source.splitlines()) < 2000
    (count, found) = list(processed(nfa_of(last, 64), "sahz"))[-1]
    assert count > 0
    assert ["s", "a", "h", "z"] in [
        ["sahz"[at] for at, _ in found[first : first + 4]] for first in range(len(found))
    ]


def test_conditions_are_asked_once_and_only_if_need_be() -> None:
    asked: list[str] = []

    def asking(name: str, answer: bool) -> Any:
        def condition(_: Any) -> bool:
            asked.append(name)
            return answer

        return condition

    pattern = Pattern.begin("a").next("b").where(asking("no", False)).where(asking("never", True))
    either = pattern.or_(asking("yes", True)).one_or_more().consecutive().greedy()
    nfa = nfa_of(either.next("c").where(asking("c", True)), 64)
    list(processed(nfa, "xy"))
    assert asked == ["no", "yes"]
