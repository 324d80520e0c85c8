"""Waiting for what another thread or process is about to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 60.0
"""More than a busy machine ever needs; who waits for something goes on as soon as it is so."""


def wait_until(holds: Callable[[], Any], what: str) -> None:
    """Wait for something to be so; if it never is, fail and say what was waited for."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S:.0f} s: {what}"
        time.sleep(0.001)
