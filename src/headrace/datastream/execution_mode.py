"""Whether a job runs as a stream or as a batch."""

from __future__ import annotations

from enum import Enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(Enum):
    """STREAMING emits every update, BATCH only final results; AUTOMATIC looks at the sources."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
