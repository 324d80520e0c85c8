"""Window cases kept as data: our own, and those beside the repository."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.cases.loading import windows

Case = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "conformance" / "window_cases.json"


def cases(*kinds: str) -> list[Any]:
    """The cases of some kinds, as parameters of a test."""
    loaded = windows()
    if CASES.is_file():
        loaded += json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in loaded if case["kind"] in kinds]


def expectation(pairs: Iterable[Any]) -> list[tuple[Any, int]]:
    """Expected records as (value, timestamp), with tuples for JSON's lists."""
    return [(tuple(value) if isinstance(value, list) else value, time) for value, time in pairs]
