"""Which way an unbounded job is run: in real time where that can be had."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from headrace.core.source import SplitSpec
from headrace.errors import Unsupported
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.flow.sources import with_splits
from headrace.spark.flow.attempt import MICRO_BATCH, REAL_TIME, driver_host
from headrace.spark.flow.run import slots_needed
from headrace.spark.flow.self_test import why_not_real_time
from headrace.spark.session import Session, task_slots


def choose_mode(plan: PhysicalPlan, session: Callable[[], Session]) -> str:
    """The best mode that can be had, with a line that says why.

    `session` gives Spark, with as many slots as real time needs if they can be had. Nothing is said
    of a job whose sources end: it is done soonest in micro-batches.
    """
    if plan.bounded:
        return MICRO_BATCH
    why_not = why_not_by_plan(plan) or _why_not_by_spark(session(), plan)
    if why_not is None:
        _say("in real time: its sources and its checkpoints can flow, and Spark has the slots")
        return REAL_TIME
    _say(f"in micro-batches: {why_not}")
    return MICRO_BATCH


def why_not_by_plan(plan: PhysicalPlan) -> str | None:
    """What about a job cannot run in real time; None if everything can."""
    for vertex in _read_by_spark(plan):
        return f"{vertex.name!r} is read by Spark, which has no real time for it"
    return None


def require_real_time(plan: PhysicalPlan) -> None:
    """Refuse a job that is to run in real time and cannot."""
    for vertex in _read_by_spark(plan):
        raise Unsupported(
            f"{vertex.name!r} cannot be read in real time: Spark reads it, in micro-batches",
            origin=vertex.origin,
            hint="Set headrace.stream.mode to auto or micro-batch, or HEADRACE_STREAM_MODE if the "
            "program does not set it.",
        )


def _read_by_spark(plan: PhysicalPlan) -> Iterator[Vertex]:
    return (each for each in with_splits(plan).sources if not isinstance(each.source, SplitSpec))


def _why_not_by_spark(spark: Session, plan: PhysicalPlan) -> str | None:
    needed, has = slots_needed(plan), task_slots(spark)
    if has < needed:
        return f"it would need {needed} tasks at once, and Spark runs {has}"
    why_not = why_not_real_time(spark, driver_host(spark))
    return None if why_not is None else f"the real-time mode of this Spark failed a test: {why_not}"


def _say(how: str) -> None:
    print(f"headrace: the job runs {how}", file=sys.stderr, flush=True)
