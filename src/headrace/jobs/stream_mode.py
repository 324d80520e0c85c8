"""Which way an unbounded job is run: in real time where that can be had."""

from __future__ import annotations

import sys
from collections.abc import Callable

from headrace.plan.physical import PhysicalPlan
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
    why_not = _why_not_by_spark(session(), plan)
    if why_not is None:
        _say("in real time: its sources and its checkpoints can flow, and Spark has the slots")
        return REAL_TIME
    _say(f"in micro-batches: {why_not}")
    return MICRO_BATCH


def _why_not_by_spark(spark: Session, plan: PhysicalPlan) -> str | None:
    needed, has = slots_needed(plan), task_slots(spark)
    if has < needed:
        return f"it would need {needed} tasks at once, and Spark runs {has}"
    why_not = why_not_real_time(spark, driver_host(spark))
    return None if why_not is None else f"the real-time mode of this Spark failed a test: {why_not}"


def _say(how: str) -> None:
    print(f"headrace: the job runs {how}", file=sys.stderr, flush=True)
