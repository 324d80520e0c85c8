"""A matcher that tries everything: which events go to which stage, checked one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

from headrace.cep import Pattern
from headrace.common import Time

STRICT, RELAXED, ANY = "next", "followed_by", "followed_by_any"


@dataclass(frozen=True)
class Stage:
    letters: str
    contiguity: str = RELAXED
    least: int = 1
    most: int = 1
    inner: str = RELAXED
    optional: bool = False
    forbidden: str = ""
    """Letters that must not come between the stage before and this one."""


Assignment = tuple[tuple[int, int], ...]
"""The events of a match as (position, number of the stage)."""


def matches(
    stages: list[Stage], letters: str, times: list[int], within: int | None
) -> Iterator[Assignment]:
    """All matches: of all ways to give each event to one stage or none, those that fit."""
    choices = [
        [None, *(at for at, stage in enumerate(stages) if letter in stage.letters)]
        for letter in letters
    ]
    for chosen in product(*choices):
        found = tuple((at, stage) for at, stage in enumerate(chosen) if stage is not None)
        if found and _counts_fit(stages, found) and _gaps_fit(stages, letters, found):
            span = times[found[-1][0]] - times[found[0][0]]
            if within is None or span < within:
                yield found


def _counts_fit(stages: list[Stage], found: Assignment) -> bool:
    order = [stage for _, stage in found]
    if order != sorted(order):
        return False
    for number, stage in enumerate(stages):
        count = order.count(number)
        if not (stage.least <= count <= stage.most or (stage.optional and count == 0)):
            return False
    return True


def _gaps_fit(stages: list[Stage], letters: str, found: Assignment) -> bool:
    for (one, before), (other, number) in pairwise(found):
        stage, between = stages[number], letters[one + 1 : other]
        contiguity = stage.inner if before == number else stage.contiguity
        if contiguity == STRICT and between:
            return False
        if contiguity == RELAXED and set(between) & set(stage.letters):
            return False
        if before != number and set(between) & set(stage.forbidden):
            return False
    return True


def pattern_of(stages: list[Stage], within: int | None) -> Pattern:
    """The same as a pattern; stage n is called by its number."""
    pattern: Pattern | None = None
    for number, stage in enumerate(stages):
        if pattern is not None and stage.forbidden:
            pattern = pattern.not_followed_by(f"not {number}").where(_one_of(stage.forbidden))
        pattern = _appended(pattern, number, stage)
    assert pattern is not None
    return pattern if within is None else pattern.within(Time.milliseconds(within))


def _appended(pattern: Pattern | None, number: int, stage: Stage) -> Pattern:
    name = str(number)
    begun = Pattern.begin(name) if pattern is None else getattr(pattern, stage.contiguity)(name)
    made: Pattern = begun.where(_one_of(stage.letters))
    if (stage.least, stage.most) != (1, 1):
        made = made.times(stage.least, stage.most)
        if stage.inner == STRICT:
            made = made.consecutive()
        elif stage.inner == ANY:
            made = made.allow_combinations()
    return made.optional() if stage.optional else made


def _one_of(letters: str):  # type: ignore[no-untyped-def]
    return lambda event: event[1] in letters
