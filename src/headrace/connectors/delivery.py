"""What a sink promises after a failure."""

from __future__ import annotations

from enum import Enum

__all__ = ["DeliveryGuarantee"]


class DeliveryGuarantee(Enum):
    """How often a record may appear in a sink's output when the job failed and recovered."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2
