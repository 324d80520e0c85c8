"""Row patterns as small programs, for a matcher that follows several threads through them.

The order of a `Choose`'s targets is the order in which the SQL standard prefers matches. Numbers
that a thread carries (`registers`) count the repetitions of loops; all other loops and options are
choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from headrace.core.row_pattern_terms import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Quantified,
    Term,
    Variable,
    can_be_empty,
)

Registers = tuple[int, ...]


class Take(NamedTuple):
    """A row for which the variable's condition holds."""

    variable: str
    excluded: bool
    after: int


class Choose(NamedTuple):
    """Go on in all of these places, the first one preferred."""

    targets: tuple[int, ...]


class Begin(NamedTuple):
    """A loop that counts begins."""

    register: int
    after: int


class Loop(NamedTuple):
    """The place where a loop that counts decides whether to go round once more."""

    register: int
    low: int
    high: int | None
    greedy: bool
    body: int
    after: int
    checked: bool
    """Whether the register after it says that a repetition has taken no row yet."""


class Repeated(NamedTuple):
    """The end of a loop's body."""

    register: int
    loop: int
    checked: bool


class AtStart(NamedTuple):
    """Only before the first row of the partition."""

    after: int


class AtEnd(NamedTuple):
    """Only after the last row of the partition."""

    after: int


class Done(NamedTuple):
    """The pattern is matched."""


Instruction = Take | Choose | Begin | Loop | Repeated | AtStart | AtEnd | Done


@dataclass(frozen=True)
class Program:
    """Instructions, of which the first to carry out is `entry`."""

    instructions: tuple[Instruction, ...]
    entry: int
    registers: Registers
    """What threads begin with."""
    checks: tuple[int, ...]
    """Registers that say that a repetition has taken no row yet; taking one clears them."""

    @property
    def anchored(self) -> bool:
        """Whether it matters which row is the first of its partition."""
        return any(isinstance(each, AtStart) for each in self.instructions)


def compiled_program(term: Term) -> Program:
    """The program that matches a pattern."""
    compiler = _Compiler()
    done = compiler.add(Done())
    entry = compiler.compile(term, done, excluded=False)
    return Program(
        tuple(compiler.made), entry, (0,) * compiler.registers, tuple(compiler.checks)
    )  # fmt: skip


class _Compiler:
    """Makes instructions from the end to the beginning: each knows what comes after it."""

    def __init__(self) -> None:
        self.made: list[Instruction] = []
        self.registers = 0
        self.checks: list[int] = []

    def add(self, instruction: Instruction) -> int:
        self.made.append(instruction)
        return len(self.made) - 1

    def compile(self, term: Term, after: int, excluded: bool) -> int:
        """Where a thread that matches the term and then goes on at `after` begins."""
        match term:
            case Variable(name):
                return self.add(Take(name, excluded, after))
            case Concatenation(parts):
                for part in reversed(parts):
                    after = self.compile(part, after, excluded)
                return after
            case Alternation(parts):
                targets = tuple(self.compile(part, after, excluded) for part in parts)
                return self.add(Choose(targets))
            case Permutation(parts):
                return self._permuted(parts, after, excluded)
            case Quantified():
                return self._quantified(term, after, excluded)
            case Exclusion(part):
                return self.compile(part, after, True)
            case Anchor(at_end):
                return self.add(AtEnd(after) if at_end else AtStart(after))

    def _permuted(self, parts: Sequence[Term], after: int, excluded: bool) -> int:
        if all(isinstance(part, Variable) for part in parts):
            return self._tree(parts, after, excluded)
        # Which rows the first part takes may depend on the order of the others: no common start.
        orders = tuple(
            self.compile(Concatenation(order), after, excluded) for order in permutations(parts)
        )
        return self.add(Choose(orders))

    def _tree(self, parts: Sequence[Term], after: int, excluded: bool) -> int:
        """Orders that begin alike share their beginning."""
        targets = []
        for at, part in enumerate(parts):
            rest = [*parts[:at], *parts[at + 1 :]]
            then = self._tree(rest, after, excluded) if rest else after
            targets.append(self.compile(part, then, excluded))
        return targets[0] if len(targets) == 1 else self.add(Choose(tuple(targets)))

    def _quantified(self, term: Quantified, after: int, excluded: bool) -> int:
        low, high = term.low, term.high
        if (low, high) == (1, 1):
            return self.compile(term.part, after, excluded)
        if high == 0:
            return after
        if (low, high) == (0, 1):
            body = self.compile(term.part, after, excluded)
            return self.add(_choice(body, after, term.greedy))
        if high is None and low < 2 and not can_be_empty(term.part):
            return self._simple_loop(term, after, excluded)
        return self._counted_loop(term, after, excluded)

    def _simple_loop(self, term: Quantified, after: int, excluded: bool) -> int:
        choice = self.add(Done())  # in its place until the body is known
        body = self.compile(term.part, choice, excluded)
        self.made[choice] = _choice(body, after, term.greedy)
        return choice if term.low == 0 else body

    def _counted_loop(self, term: Quantified, after: int, excluded: bool) -> int:
        register = self.registers
        checked = term.high is None and can_be_empty(term.part)
        self.registers += 2 if checked else 1
        if checked:
            self.checks.append(register + 1)
        loop = self.add(Done())  # in its place until the body is known
        end = self.add(Repeated(register, loop, checked))
        body = self.compile(term.part, end, excluded)
        self.made[loop] = Loop(register, term.low, term.high, term.greedy, body, after, checked)
        return self.add(Begin(register, loop))


def _choice(body: int, after: int, greedy: bool) -> Choose:
    return Choose((body, after) if greedy else (after, body))
