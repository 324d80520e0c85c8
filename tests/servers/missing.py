"""What becomes of tests whose server cannot be had."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NoReturn

import pytest


def are_required(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether servers have to be there: where a change is judged nothing may be left out unseen."""
    chosen = environ.get("HEADRACE_SERVERS")
    if chosen is not None:
        return chosen == "required"
    return environ.get("CI", "").lower() in ("1", "true")


def skip_without_server(reason: str) -> NoReturn:
    """Skip the test, or fail it if servers are required."""
    if are_required():
        pytest.fail(f"{reason} (HEADRACE_SERVERS=optional skips what needs it)", pytrace=False)
    pytest.skip(reason)
