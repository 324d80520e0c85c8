"""When a task may start, in terms of its inputs."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Accepted where PyFlink accepts it; Spark schedules the stages of a job by itself."""

    ANY = 0
    ALL = 1
