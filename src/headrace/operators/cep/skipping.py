"""Which matches a match that was found makes void."""

from __future__ import annotations

from headrace.core.patterns import AfterMatch, Skip
from headrace.errors import InvalidGraph
from headrace.operators.cep.shared_buffer import Link, Run, Stamp, chain


def survivors(after: AfterMatch, found: Run, runs: list[Run]) -> list[Run]:
    """Those of `runs` that are still wanted after `found`."""
    if after.skip is Skip.PAST_LAST_EVENT:
        last = found.last.stamp
        return [run for run in runs if run.start > last]
    if after.skip is Skip.TO_NEXT:
        return [run for run in runs if run.start > found.start]
    stages = [link for link in chain(found.last) if link.stage == after.stage]
    if after.must_exist:
        _check(after, found, stages)
    if not stages:
        return runs
    target = stages[0 if after.skip is Skip.TO_FIRST else -1].stamp
    return [run for run in runs if run.start >= target]


def _check(after: AfterMatch, found: Run, stages: list[Link]) -> None:
    if not stages:
        raise InvalidGraph(
            f"a match has no event of stage {after.stage!r}, to which matching was to skip",
            hint="Skip to a stage that is not optional, or leave out throw_exception_on_miss().",
        )
    target: Stamp = stages[0 if after.skip is Skip.TO_FIRST else -1].stamp
    if target == found.start:
        raise InvalidGraph(
            f"matching was to skip to stage {after.stage!r}, with which the match itself begins: "
            "the same match would be found for ever",
            hint="Skip to a later stage, or past the last event: skip_past_last_event(), in SQL "
            "AFTER MATCH SKIP PAST LAST ROW.",
        )
