"""What a pattern must not say."""

from __future__ import annotations

from headrace.core.patterns import Absence, EventPattern, Group, Part, Skip, Stage, stages_of
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin


def check_pattern(pattern: EventPattern) -> None:
    """Refuse a pattern that has no meaning, or one that no stream could match."""
    _check_names(pattern)
    _check_skip(pattern)
    _check_end(pattern)
    _check_gaps(pattern)
    _check_groups(pattern.parts)


def _refuse(problem: str, hint: str) -> InvalidArgument:
    return InvalidArgument(problem, origin=calling_origin(), hint=hint)


def _check_names(pattern: EventPattern) -> None:
    seen: set[str] = set()
    for stage in stages_of(pattern.parts):
        if stage.name in seen:
            raise _refuse(
                f"two stages of the pattern are called {stage.name!r}",
                "Give each its own name: matches tell by name which events belong where.",
            )
        seen.add(stage.name)


def _check_skip(pattern: EventPattern) -> None:
    after = pattern.after_match
    if after.skip not in (Skip.TO_FIRST, Skip.TO_LAST):
        return
    names = [stage.name for stage in stages_of(pattern.parts) if stage.absence is None]
    if after.stage not in names:
        raise _refuse(
            f"the pattern has no stage {after.stage!r} to skip to after a match",
            f"Its stages are {', '.join(map(repr, names))}.",
        )


def _check_end(pattern: EventPattern) -> None:
    last = pattern.parts[-1]
    while isinstance(last, Group):
        last = last.parts[-1]
    if last.absence is Absence.BEFORE_NEXT_STAGE and not (last.gap_ms or pattern.within_ms):
        raise _refuse(
            f"the pattern ends with not_followed_by({last.name!r}) and has no time limit, so no "
            "match would ever be complete",
            "Add within(...): a match is complete when that time has passed.",
        )


def _check_gaps(pattern: EventPattern) -> None:
    if pattern.within_ms is None:
        return
    for stage in stages_of(pattern.parts):
        repeated = stage.repetition.gap_ms if stage.repetition is not None else None
        for gap in (stage.gap_ms, repeated):
            if gap is not None and gap > pattern.within_ms:
                raise _refuse(
                    f"stage {stage.name!r} may come {gap} ms after the event before it, but the "
                    f"whole match must lie within {pattern.within_ms} ms",
                    "The time between neighbours must not be longer than that of the whole match.",
                )


def _check_groups(parts: tuple[Part, ...]) -> None:
    for part in parts:
        if not isinstance(part, Group):
            continue
        _check_groups(part.parts)
        looping = part.repetition is not None and part.repetition.at_most is None
        if looping and all(_may_be_missing(inner) for inner in part.parts):
            raise _refuse(
                "a group that may occur any number of times has only optional parts: it could "
                "occur any number of times without a single event",
                "Make at least one part of the group not optional.",
            )


def _may_be_missing(part: Part) -> bool:
    absent = isinstance(part, Stage) and part.absence is not None
    inside = isinstance(part, Group) and all(map(_may_be_missing, part.parts))
    return part.optional or absent or inside
