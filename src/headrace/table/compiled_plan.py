"""Compiled plans, which do not exist here."""

from __future__ import annotations

from headrace.errors import Unsupported
from headrace.origin import calling_origin

__all__ = ["CompiledPlan"]


def no_compiled_plans() -> Unsupported:
    """What is raised wherever a plan is to be kept as text."""
    return Unsupported(
        "plans cannot be kept apart from their program", origin=calling_origin(),
        hint="Keep the SQL or the program: a job resumes from its savepoint by operator uids.",
    )  # fmt: skip


class CompiledPlan:
    """A plan as JSON; Flink's planner alone can read one."""

    def __init__(self, *_args: object) -> None:
        raise no_compiled_plans()
