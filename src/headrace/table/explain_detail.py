"""What else a plan may tell."""

from __future__ import annotations

from enum import Enum


class ExplainDetail(Enum):
    """Further parts of what explain() shows."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
