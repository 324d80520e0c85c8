"""What an expression of a program is, as far as its source tells.

A PyFlink module, class or object, a class or object of the program's own, something that is
surely not PyFlink's, or unknown (None).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from headrace.parity import ApiClass


@dataclass(frozen=True, slots=True)
class Module:
    """A PyFlink module."""

    path: str


@dataclass(frozen=True, slots=True)
class Api:
    """A PyFlink class, or an object of one."""

    known: ApiClass
    is_object: bool


@dataclass(slots=True)
class Own:
    """A class of the program, or an object of one."""

    bases: list[Value]
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the program, or a method of PyFlink's (then it has an owner)."""

    result: Value = None
    owner: ApiClass | None = None
    method: str = ""
    parameters: tuple[str, ...] = ()
    hints: Names = field(default_factory=dict)
    """What calls gave for the parameters, for the next walk over the function."""

    def note_call(self, given: Mapping[int | str, Value]) -> None:
        """Remember the PyFlink objects that a call passes, by position or by name."""
        for place, value in given.items():
            if isinstance(place, int) and place < len(self.parameters):
                place = self.parameters[place]
            if isinstance(place, str) and isinstance(value, Api):
                self.hints.setdefault(place, value)


class Foreign:
    """Something that is surely not PyFlink's."""


Value = Module | Api | Own | Function | Foreign | None
Names = dict[str, Value]
FOREIGN = Foreign()


def api_bases(own: Own) -> Iterator[ApiClass]:
    """The PyFlink classes that a class of the program extends."""
    for base in own.bases:
        if isinstance(base, Api):
            yield base.known
        elif isinstance(base, Own):
            yield from api_bases(base)
