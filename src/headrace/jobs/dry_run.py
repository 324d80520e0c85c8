"""Running a program only up to its first job, to learn what that job would be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headrace.plan.physical import PhysicalPlan


class Planned(BaseException):
    """Ends a program that wanted to execute its job. Not an Exception: programs catch those."""

    def __init__(self, plan: PhysicalPlan):
        super().__init__(f"the job {plan.name!r} is planned, not executed")
        self.plan = plan


class _Mode:
    """Of the whole process: a program may execute its job in another thread."""

    only_planned = False


@contextmanager
def planning_only() -> Iterator[None]:
    """Jobs launched in here are not run: `Planned` is raised instead."""
    _Mode.only_planned = True
    try:
        yield
    finally:
        _Mode.only_planned = False


def is_planning_only() -> bool:
    return _Mode.only_planned
