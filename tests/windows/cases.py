"""Window cases kept as data, beside the repository."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "conformance" / "window_cases.json"


def cases(*kinds: str) -> list[Any]:
    """The cases of some kinds, as parameters of a test; one that is skipped if there are none."""
    if not CASES.is_file():
        skipped = pytest.mark.skip(reason=f"the conformance cases are not at {CASES}")
        return [pytest.param({}, marks=skipped, id="absent")]
    loaded = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in loaded if case["kind"] in kinds]


def expectation(pairs: Iterable[Any]) -> list[tuple[Any, int]]:
    """Expected records as (value, timestamp), with tuples for JSON's lists."""
    return [(tuple(value) if isinstance(value, list) else value, time) for value, time in pairs]
