"""Pictures of row patterns that are matched as the SQL standard says: programs as states and edges.

A state waits for a row of a variable; how a thread comes from one such place to the next, through
choices and loops, becomes one edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.cep.drawing import Drawing, DrawnEdge
from headrace.core.row_pattern_terms import Term
from headrace.operators.cep.automaton import Action, Kind, State
from headrace.operators.table.row_programs import (
    AtEnd,
    AtStart,
    Begin,
    Choose,
    Done,
    Instruction,
    Loop,
    Program,
    Repeated,
    Take,
    compiled_program,
)

_START, _MATCH = "$start$", "$match$"
_Way = tuple[int, str]
"""Where a thread comes to, and what must hold on the way."""


def drawn_program(term: Term, conditions: set[str], within_ms: int | None) -> Drawing:
    """The picture of a pattern; `conditions` are the variables that have one."""
    return _Picture(compiled_program(term), conditions).drawing(within_ms)


@dataclass(frozen=True)
class _Picture:
    program: Program
    conditions: set[str]

    def drawing(self, within_ms: int | None) -> Drawing:
        begins = list(self._ways(self.program.entry))
        places = self._reached(begins)
        names = self._names(places)
        states = [_state(names[place]) for place in places]
        edges = [edge for place in places for edge in self._edges(place, names)]
        if len(begins) == 1 and states and not begins[0][1]:
            states[0].kind = Kind.START
        else:
            states.insert(0, _state(_START, Kind.START))
            begun = [DrawnEdge(Action.PROCEED, _START, names[to], note) for to, note in begins]
            edges = begun + edges
        return Drawing((*states, _state(_MATCH, Kind.FINAL)), tuple(edges), within_ms)

    def _edges(self, place: int, names: dict[int, str]) -> Iterator[DrawnEdge]:
        take = self.program.instructions[place]
        assert isinstance(take, Take)
        held = take.variable if take.variable in self.conditions else ""
        for to, note in self._ways(take.after):
            yield DrawnEdge(Action.TAKE, names[place], names[to], _joined(held, note))

    def _reached(self, begins: list[_Way]) -> list[int]:
        """The places that take a row, in the order a match comes to them."""
        found: list[int] = []
        waiting = [to for to, _ in begins]
        while waiting:
            place = waiting.pop(0)
            take = self.program.instructions[place]
            if isinstance(take, Take) and place not in found:
                found.append(place)
                waiting += [to for to, _ in self._ways(take.after)]
        return found

    def _names(self, places: list[int]) -> dict[int, str]:
        """Places by their variable; several of one are numbered."""
        names: dict[int, str] = {}
        taken = [self.program.instructions[place] for place in places]
        variables = [each.variable for each in taken if isinstance(each, Take)]
        for at, (place, take) in enumerate(zip(places, taken, strict=True)):
            assert isinstance(take, Take)
            many = variables.count(take.variable) > 1
            number = f":{variables[: at + 1].count(take.variable)}" if many else ""
            name = f"{take.variable}{number}"
            names[place] = f"{{- {name} -}}" if take.excluded else name
        done = next(at for at, each in enumerate(self.program.instructions)
                    if isinstance(each, Done))  # fmt: skip
        return {**names, done: _MATCH}

    def _ways(self, start: int) -> Iterator[_Way]:
        """The places that take a row, or the end, that a thread comes to without taking one."""
        waiting = [(start, "", frozenset[int]())]
        seen: set[tuple[int, bool]] = set()
        while waiting:
            place, note, begun = waiting.pop()
            instruction = self.program.instructions[place]
            fresh = isinstance(instruction, Loop) and instruction.register in begun
            if (place, fresh) in seen:
                continue
            seen.add((place, fresh))
            if isinstance(instruction, Take | Done):
                yield place, note
            if isinstance(instruction, Begin):
                begun |= {instruction.register}
            if isinstance(instruction, Repeated):
                begun -= {instruction.register}
            further = [(to, _joined(note, more), begun) for to, more in _next(instruction, fresh)]
            waiting += reversed(further)


def _next(instruction: Instruction, fresh: bool) -> Iterator[_Way]:
    """Where a thread may go on at once, the preferred place first. A fresh loop made no round."""
    match instruction:
        case Choose(targets):
            yield from ((target, "") for target in targets)
        case Begin(_, after) | Repeated(_, after):
            yield after, ""
        case Loop() as loop:
            yield loop.body, ""
            if loop.low == 0 or not fresh:
                yield loop.after, _times(loop)
        case AtStart(after):
            yield after, "before the first row"
        case AtEnd(after):
            yield after, "after the last row"


def _state(name: str, kind: Kind = Kind.NORMAL) -> State:
    return State(name, name, kind)


def _joined(note: str, more: str) -> str:
    return ", ".join(text for text in (note, more) if text)


def _times(loop: Loop) -> str:
    if loop.high is None:
        return f"after {loop.low} times or more"
    least = "" if loop.low == loop.high else f"{loop.low} to "
    return f"after {least}{loop.high} times"
