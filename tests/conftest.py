"""What every suite shares without starting Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# A loaded machine must not turn a slow example into a failure; pytest-timeout guards the test.
settings.register_profile(
    "headrace", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("headrace")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark, so that `-m 'not spark'` needs no Java."""
    for item in items:
        uses_session = "spark" in getattr(item, "fixturenames", ())
        if uses_session or item.path.is_relative_to(ROOT / "tests" / "spark"):
            item.add_marker(pytest.mark.spark)
