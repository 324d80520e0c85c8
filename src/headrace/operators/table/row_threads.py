"""Following the threads of a program through rows, in the order the standard prefers matches.

A thread is a way to match the rows so far. Threads are kept in the order of preference; when one
is done, those after it do not matter any more, and the match is decided when those before it have
come to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from headrace.core.row_patterns import Classifier, OverMatch, OverRows, RowAt, Slot, Variables
from headrace.errors import InvalidGraph
from headrace.operators.cep.nfa import MatchContext
from headrace.operators.table.row_paths import DONE, Leaves, Paths
from headrace.operators.table.row_programs import Program, Registers, Take

MOST_THREADS = 100_000
"""How many ways to match its rows a match may have at a time."""
_MOST_NAMES = 10_000
Seen = tuple[Any, ...]


class TakenRow(NamedTuple):
    """A row of a match, and the way to those before it; the first four are those of `Link`."""

    before: TakenRow | None
    stage: str
    stamp: tuple[int, int]
    """Its time, and its number in the partition."""
    event: Any
    excluded: bool


class Thread(NamedTuple):
    """A way to match the rows so far."""

    place: int
    registers: Registers
    last: TakenRow | None
    seen: Seen
    """What conditions can tell of the rows so far: threads that differ in nothing else have the
    same future, so only the first one of them is kept."""


class RowContext(MatchContext):
    """What the condition of a variable may see; one object for all."""

    rows: Sequence[tuple[int, Any]] = ()
    first = 0
    """The number of the first one of `rows`."""
    number = 0
    """The number of the row in question."""
    match_number = 0

    def physical(self, number: int) -> Any:
        """The row of a number; None if the partition has none, or it is not known any more."""
        at = number - self.first
        return self.rows[at][1] if 0 <= at < len(self.rows) else None


class Past:
    """What the conditions of a pattern want to know of the rows so far."""

    def __init__(self, definitions: Sequence[tuple[str, OverMatch]]):
        wanted: dict[tuple[Variables, bool, bool], int] = {}
        self._totals: list[Variables] = []
        for variable, over in definitions:
            for slot in over.slots:
                self._add(variable, slot, wanted)
        self._rows = [(*key, count) for key, count in wanted.items()]
        self.nothing: Seen = (*((),) * len(self._rows), *(0,) * len(self._totals))
        self._numbers: dict[tuple[int, int], int] = {}
        self._next = 1

    def _add(
        self, variable: str, slot: Slot, wanted: dict[tuple[Variables, bool, bool], int]
    ) -> None:
        if isinstance(slot, OverRows):
            if slot.variables not in self._totals:
                self._totals.append(slot.variables)
        elif isinstance(slot, RowAt | Classifier):
            own = slot.variables is None or variable in slot.variables
            count = slot.offset + 1 - int(own and slot.from_end)
            if count:
                key = (slot.variables, slot.from_end, isinstance(slot, Classifier))
                wanted[key] = max(wanted.get(key, 0), count)

    def with_row(self, seen: Seen, row: TakenRow) -> Seen:
        """The same with one more row."""
        if not seen:
            return seen
        stage, number = row.stage, row.stamp[1]
        made: list[Any] = []
        for (variables, from_end, named, count), old in zip(self._rows, seen, strict=False):
            if variables is not None and stage not in variables:
                made.append(old)
            elif from_end or len(old) < count:
                made.append((*old, (stage, number) if named else number)[-count:])
            else:
                made.append(old)
        for variables, old in zip(self._totals, seen[len(self._rows) :], strict=True):
            counts = variables is None or stage in variables
            made.append(self._name(old, number) if counts else old)
        return tuple(made)

    def _name(self, rows: int, number: int) -> int:
        """A number for a list of rows; the same for the same list."""
        found = self._numbers.get((rows, number))
        if found is None:
            if len(self._numbers) > _MOST_NAMES:
                self._numbers.clear()  # numbers are never given twice
            found = self._numbers[rows, number] = self._next
            self._next += 1
        return found

    def of(self, last: TakenRow | None) -> Seen:
        """What conditions can tell of these rows."""
        seen = self.nothing
        for row in rows_of(last) if seen else ():
            seen = self.with_row(seen, row)
        return seen


def rows_of(last: TakenRow | None) -> list[TakenRow]:
    """The rows of a match, the first one first."""
    found = []
    while last is not None:
        found.append(last)
        last = last.before
    found.reverse()
    return found


class Step:
    """All threads after one row, or before the first; made in order of preference."""

    __slots__ = ("_visited", "done", "is_done", "threads")

    def __init__(self) -> None:
        self._visited: set[tuple[int, Registers, Seen]] = set()
        self.threads: list[Thread] = []
        self.done: TakenRow | None = None
        self.is_done = False
        """Whether a thread has come to the end of the program, with `done` as its last row."""

    def add(self, leaves: Leaves, last: TakenRow | None, seen: Seen) -> None:
        """Go on with these, unless a preferred thread is there already or all is done."""
        visited, threads = self._visited, self.threads
        for place, registers in leaves:
            if place == DONE:
                self.is_done, self.done = True, last
                return
            key = (place, registers, seen)
            if key not in visited:
                visited.add(key)
                threads.append(Thread(place, registers, last, seen))


Holds = Callable[[Any, RowContext], bool]


class Stepper:
    """Moves threads on by one row."""

    def __init__(
        self, program: Program, past: Past, conditions: Mapping[str, Holds],
        plain: frozenset[str], most: int = MOST_THREADS,
    ):  # fmt: skip
        self.program = program
        self._past = past
        self._paths = Paths(program)
        self._starts = [self._paths.find(program.entry, program.registers, first_row=first)
                        for first in (False, True)]  # fmt: skip
        self._conditions = conditions
        self._plain = plain
        """Variables whose conditions do not look at the rows of the match."""
        self._most = most

    def begun(self, first_row: bool) -> Step:
        """The threads of a match that has no row yet."""
        step = Step()
        step.add(self._starts[first_row], None, self._past.nothing)
        return step

    def taken(
        self, threads: Sequence[Thread], row: Any, stamp: tuple[int, int], context: RowContext
    ) -> Step:
        """The threads after a row."""
        step, known = Step(), dict[str, bool]()
        instructions, cleared = self.program.instructions, self.program.checks
        for place, registers, last, seen in threads:
            take = instructions[place]
            if take.__class__ is not Take:
                continue  # after the last row there was one more
            variable, excluded, after = take
            if not self._holds(variable, row, last, context, known):
                continue
            link = TakenRow(last, variable, stamp, row, excluded)
            if cleared:
                registers = tuple(0 if at in cleared else n for at, n in enumerate(registers))
            seen = self._past.with_row(seen, link) if seen else seen
            step.add(self._paths.after(after, registers), link, seen)
            if step.is_done:
                break
        if len(step.threads) > self._most:
            raise too_many(f"{len(step.threads)} ways to match the rows so far")
        return step

    def ended(self, threads: Sequence[Thread]) -> Step:
        """There is no row any more: what is still to come of the threads."""
        step = Step()
        for place, registers, last, seen in threads:
            step.add(self._paths.find(place, registers, ended=True), last, seen)
            if step.is_done:
                break
        return step

    def _holds(
        self, variable: str, row: Any, last: TakenRow | None, context: RowContext,
        known: dict[str, bool],
    ) -> bool:  # fmt: skip
        holds = self._conditions.get(variable)
        if holds is None:
            return True
        found = known.get(variable)
        if found is None:
            context.last = last  # type: ignore[assignment]
            context.seen = None
            found = holds(row, context)
            if variable in self._plain:
                known[variable] = found
        return found


def too_many(what: str) -> InvalidGraph:
    return InvalidGraph(
        f"a match of MATCH_RECOGNIZE that is not decided yet has {what}, more than are allowed",
        hint="Bound it: add WITHIN with a time limit after PATTERN, use conditions that exclude "
        "each other, or quantifiers with an upper bound.",
    )
