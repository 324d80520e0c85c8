"""Drawing the states and edges of a pattern."""

from __future__ import annotations

from headrace.operators.cep.automaton import Automaton


class Drawing:
    def __init__(self, automaton: Automaton):
        self.automaton = automaton


def drawn(automaton: Automaton) -> Drawing:
    return Drawing(automaton)
