"""How a program is run."""

from headrace.core.execution_config import ExecutionConfig

__all__ = ["ExecutionConfig"]
