"""Pictures of patterns, and how matches came about."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from headrace.cep import Pattern
from headrace.common import Time
from headrace.errors import InvalidArgument, Unsupported
from tests.cep.cases import Case, cases, pattern_of


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
    assert all(state.name.replace("$", "") in drawing.text() for state in drawing.states)


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = pattern().draw()
    for name in ("drawn.svg", "drawn.PNG", "drawn.txt"):
        drawing.save(tmp_path / name)
    assert (tmp_path / "drawn.svg").read_text(encoding="utf-8") == drawing.svg()
    assert (tmp_path / "drawn.txt").read_text(encoding="utf-8") == f"{drawing}\n"
    png = (tmp_path / "drawn.PNG").read_bytes()
    assert png.startswith(b"\x89PNG\r\n")
    assert png == drawing.png()
    root = ElementTree.fromstring(drawing.svg())
    wide, high = (int(root.attrib[name]) for name in ("width", "height"))
    assert struct.unpack(">II", drawing.png(scale=1)[16:24]) == (wide, high)
    with pytest.raises(InvalidArgument, match=r"cannot be drawn as \.pdf"):
        drawing.save(tmp_path / "drawn.pdf")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="matplotlib"):
        drawing.png()


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


def test_a_condition_of_several_stages_has_its_own_name() -> None:
    def falls(event: int, context: Any) -> bool:
        return event < 0

    shared = Pattern.begin("a").where(falls).next("b").where(falls)
    assert "take    falls" in str(shared.draw())
    unnamed = lambda event: event < 0  # noqa: E731
    shared = Pattern.begin("a").where(unnamed).next("b").where(unnamed)
    assert "take    a or b" in str(shared.draw())
