"""What the self-test of real time keeps is about Spark, not about the machine at that moment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.spark.flow import self_test
from headrace.spark.flow.self_test import why_not_real_time

SPARK: Any = None


def answers(monkeypatch: pytest.MonkeyPatch, *found: str | None) -> None:
    each = iter(found)
    monkeypatch.setattr(self_test, "_try", lambda spark, host: next(each))


@pytest.mark.parametrize(
    "trouble",
    [
        "it does not start: No space left on device",
        "no rows arrive within 30 seconds",
    ],
)
def test_what_may_be_better_the_next_time_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trouble: str
) -> None:
    answers(monkeypatch, trouble, None)
    assert why_not_real_time(SPARK, "", kept_in=tmp_path) == trouble
    assert why_not_real_time(SPARK, "", kept_in=tmp_path) is None


@pytest.mark.parametrize("shown", [None, self_test._WRONG])
def test_what_rows_have_shown_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shown: str | None
) -> None:
    answers(monkeypatch, shown)
    for _ in range(2):
        assert why_not_real_time(SPARK, "", kept_in=tmp_path) == shown
