"""Where a part stands in its pattern, and which events that lets it take or pass over."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.core.patterns import Always, Condition, Contiguity, Group, Part, Repetition, Stage
from headrace.operators.cep.boolean import both, inverse, never

_ONCE = Repetition(1, 1)


@dataclass(slots=True)
class Frame:
    """The sequence that is being compiled."""

    group: Group | None = None
    is_first: bool = True
    """Of a repeated group: whether these are the states of its first occurrence."""
    following: Part | None = None
    """What comes after the group."""

    @property
    def until(self) -> Condition | None:
        return None if self.group is None else self.group.until

    def proceeding(self) -> Condition:
        return extended(Always(), self.until)


@dataclass(slots=True)
class Spot:
    """A part in its sequence."""

    part: Part
    before: tuple[Part, ...]
    following: Part | None
    frame: Frame

    @property
    def heads_group(self) -> bool:
        return self.frame.group is not None and not self.before

    @property
    def heads_optional_group(self) -> bool:
        group = self.frame.group
        return group is not None and self.heads_group and self.frame.is_first and group.optional

    @property
    def repetition(self) -> Repetition:
        return self.part.repetition or _ONCE

    def taking(self) -> Condition:
        return extended(_condition(self.part), self.frame.until)

    def ignoring(self) -> Condition:
        """What may lie between this part and the one before it."""
        contiguity = self.part.contiguity
        group = self.frame.group
        if group is not None and self.heads_group:
            contiguity = group.contiguity if self.frame.is_first else _inner(group)
        return self._passed_over(contiguity)

    def ignoring_inside(self) -> Condition:
        """What may lie between two events of this part."""
        group = self.frame.group
        part = self.part if group is None or not self.heads_group else group
        return extended(self._passed_over(_inner(part)), self.part.until)

    def _passed_over(self, contiguity: Contiguity) -> Condition:
        if contiguity is Contiguity.STRICT:
            return never()
        fits = _condition(self.part) if contiguity is Contiguity.RELAXED else inverse(Always())
        return extended(inverse(fits), self.frame.until)


def extended(condition: Condition, until: Condition | None) -> Condition:
    """A condition that no longer holds once `until` does."""
    return condition if until is None else both(inverse(until), condition)


def _condition(part: Part) -> Condition:
    return part.condition if isinstance(part, Stage) else Always()


def _inner(part: Part) -> Contiguity:
    return Contiguity.RELAXED if part.repetition is None else part.repetition.inner
