"""Pictures of patterns, and how matches came about."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from headrace.cep import Pattern
from headrace.common import Time
from headrace.errors import InvalidArgument
from tests.cep.cases import ROOT, Case, cases, pattern_of


def pattern() -> Pattern:
    begun = Pattern.begin("low").where(lambda event: event < 10)
    high = begun.followed_by("high").where(lambda event: event > 90)
    return high.within(Time.seconds(5))


def test_text() -> None:
    assert str(pattern().draw()) == (
        "▶ low   (waits for a first event)\n"
        "    take    low                      → high\n"
        "○ high   (waits for an event)\n"
        "    take    high                     → match\n"
        "    ignore  not high                 → itself\n"
        "◉ match   (the match is complete)\n"
        "  all within 5000 ms"
    )


@pytest.mark.parametrize("case", cases("nfa"))
def test_any_pattern_can_be_drawn(case: Case) -> None:
    drawing = pattern_of(case["pattern"], case["after_match_skip"]).draw()
    root = ElementTree.fromstring(drawing.svg())
    boxes = root.findall("{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(drawing.states)
    assert all(state.name.strip("$") in drawing.text() for state in drawing.states)


def test_explained() -> None:
    told = pattern().explain([3, 50, 95, 7, 4], [0, 1, 2, 3, 6000])
    assert [[(number, action) for number, _, action, *_ in trace] for trace in told.matches] == [
        [(0, "taken"), (1, "ignored"), (2, "taken")]
    ]
    assert len(told.partial) == 1
    assert [trace[0][1] for trace in told.timed_out] == [7]
    assert str(told).startswith(
        "match 1:\n"
        "  event 0 3  taken at 'low' → 'high'\n"
        "  event 1 50  ignored at 'high' → 'high'\n"
        "  event 2 95  taken at 'high' → a match\n"
    )


def test_nothing_to_explain() -> None:
    assert str(pattern().explain([50])) == "no event begins a match"
    with pytest.raises(InvalidArgument, match="1 events were given 2 timestamps"):
        pattern().explain([50], [1, 2])


def test_the_picture_of_the_documentation() -> None:
    """It is what the pattern of the page draws."""
    page = ROOT / "docs" / "how-to" / "patterns.md"
    picture = ROOT / "docs" / "pictures" / "patterns" / "two-countries.svg"
    assert f"../pictures/patterns/{picture.name}" in page.read_text(encoding="utf-8")
    uses = Pattern.begin("use").followed_by("use elsewhere").where(lambda use, context: True)
    drawn = uses.within(Time.hours(1)).draw().svg()
    assert picture.read_text(encoding="utf-8") == drawn
