"""What a checkpoint promises after a failure."""

from __future__ import annotations

from enum import Enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(Enum):
    """How often a record may count in the state of a job that failed and went on.

    A micro-batch is a barrier across the whole job, so state is exact in both modes.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
