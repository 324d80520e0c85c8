"""Where the threads of a program get without a row, in order of preference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from headrace.operators.table.row_programs import (
    AtEnd,
    AtStart,
    Begin,
    Choose,
    Done,
    Loop,
    Program,
    Registers,
    Repeated,
    Take,
)


class Leaf(NamedTuple):
    """Where a thread waits for a row, or with the place -1 that it has come to the end."""

    place: int
    registers: Registers


DONE = -1
Leaves = tuple[Leaf, ...]


class Paths:
    """Where threads get from a place without a row; found once for each place and registers."""

    def __init__(self, program: Program):
        self._program = program
        self._known: dict[tuple[int, Registers], Leaves] = {}

    def after(self, place: int, registers: Registers) -> Leaves:
        """From a place behind a row, the preferred ones first."""
        key = (place, registers)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.find(place, registers)
        return found

    def find(
        self, place: int, registers: Registers, *, first_row: bool = False, ended: bool = False
    ) -> Leaves:
        """`first_row`: before the first row of the partition; `ended`: after its last one."""
        found: list[Leaf] = []
        pending = [Leaf(place, registers)]
        visited: set[Leaf] = set()
        while pending:
            leaf = pending.pop()
            if leaf in visited:
                continue
            visited.add(leaf)
            match self._program.instructions[leaf.place]:
                case Take():
                    if not ended:
                        found.append(leaf)
                case AtEnd(after):
                    if ended:
                        pending.append(leaf._replace(place=after))
                    else:
                        found.append(leaf)
                case Done():
                    return (*found, Leaf(DONE, ()))
                case instruction:
                    pending += reversed(_ways(instruction, leaf, first_row))
        return tuple(found)


def _ways(
    instruction: Choose | Begin | Loop | Repeated | AtStart, leaf: Leaf, first_row: bool
) -> list[Leaf]:
    """Where a thread goes on without a row, the preferred way first."""
    match instruction:
        case Choose(targets):
            return [leaf._replace(place=target) for target in targets]
        case Begin(register, after):
            return [_moved(leaf, after, {register: 0})]
        case Loop():
            return _rounds(instruction, leaf)
        case Repeated(register, loop, checked):
            empty = checked and leaf.registers[register + 1]
            return [] if empty else [leaf._replace(place=loop)]
        case AtStart(after):
            return [leaf._replace(place=after)] if first_row else []


def _rounds(loop: Loop, leaf: Leaf) -> list[Leaf]:
    count = leaf.registers[loop.register]
    more = loop.high is None or count < loop.high
    # A loop without end only has to know whether it has gone round often enough.
    counted = count + 1 if count < loop.low or loop.high is not None else count
    changes = {loop.register: counted}
    leaving = {loop.register: 0}
    if loop.checked:
        changes[loop.register + 1] = int(count >= loop.low)
        leaving[loop.register + 1] = 0
    ways = [_moved(leaf, loop.body, changes)] if more else []
    if count < loop.low:
        return ways
    ways.append(_moved(leaf, loop.after, leaving))
    return ways if loop.greedy else ways[::-1]


def _moved(leaf: Leaf, place: int, changes: Mapping[int, int]) -> Leaf:
    registers = tuple(changes.get(at, old) for at, old in enumerate(leaf.registers))
    return Leaf(place, registers)
