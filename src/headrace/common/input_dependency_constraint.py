"""When a task starts."""

from headrace.core.input_dependency import InputDependencyConstraint

__all__ = ["InputDependencyConstraint"]
