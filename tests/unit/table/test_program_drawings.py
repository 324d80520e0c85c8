"""Pictures of patterns that only the SQL standard's matcher takes."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from headrace.core.row_pattern_terms import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Quantified,
    Term,
    Variable,
)
from headrace.table.program_drawings import drawn_program

A, B, C, D = map(Variable, "ABCD")


def drawn(*parts: Term) -> list[str]:
    """Edges as `source condition target`."""
    drawing = drawn_program(Concatenation(parts), {"B"}, 1000)
    boxes = ElementTree.fromstring(drawing.svg()).findall("{http://www.w3.org/2000/svg}rect")
    assert len(boxes) == len(drawing.states)
    assert drawing.text().endswith("(the match is complete)\n  all within 1000 ms")
    return [f"{edge.source} [{edge.label}] {edge.target}".replace("$", "")
            for edge in drawing.edges]  # fmt: skip


CASES: list[tuple[tuple[Term, ...], list[str]]] = [
    ((A, B), ["A [take] B", "B [take B] match"]),
    (
        (A, Quantified(B, 1), C),
        ["A [take] B", "B [take B] B", "B [take B] C", "C [take] match"],
    ),
    (
        (Alternation((A, Concatenation((B, C)))), D),
        ["start [proceed] A", "start [proceed] B", "A [take] D", "B [take B] C", "D [take] match",
         "C [take] D"],
    ),
    (
        (A, Exclusion(Quantified(B, 2, 3)), C),
        ["A [take] {- B -}", "{- B -} [take B] {- B -}",
         "{- B -} [take B, after 2 to 3 times] C", "C [take] match"],
    ),
    (
        (Anchor(False), A, Quantified(Concatenation((B, C)), 2, 2), Anchor(True)),
        ["start [proceed before the first row] A", "A [take] B", "B [take B] C", "C [take] B",
         "C [take after 2 times, after the last row] match"],
    ),
    (
        (Permutation((A, B)),),
        ["start [proceed] A:1", "start [proceed] B:1", "A:1 [take] B:2", "B:1 [take B] A:2",
         "B:2 [take B] match", "A:2 [take] match"],
    ),
    (
        (Quantified(Alternation((A, Quantified(B, 0, 1))), 2), C),
        ["start [proceed] A", "start [proceed] B", "start [proceed after 2 times or more] C"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "edges"), CASES, ids=lambda each: str(each)[:40])
def test_edges(parts: tuple[Term, ...], edges: list[str]) -> None:
    assert drawn(*parts)[: len(edges)] == edges
