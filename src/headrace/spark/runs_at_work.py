"""The jobs a worker process works for: it outlives them, and keeps what they need between batches.

Several jobs of one program may run at once. What is kept for one of them must not be dropped since
another has a round, nor kept when its job has ended: it may be gigabytes.
"""

from __future__ import annotations

import time
from pathlib import Path

from headrace.spark.shipment import Shipment

_FORGOTTEN_AFTER = 60.0
"""Seconds without a round after which a job counts as ended where its mark cannot be seen."""

_RUNS: dict[str, tuple[str | None, float]] = {}
"""The mark of each run that was at work here, and when it last was."""


def note_run(shipment: Shipment) -> None:
    """A run is at work here now."""
    _RUNS[shipment.run_id] = shipment.alive, time.monotonic()


def is_over(run_id: str, shipment: Shipment) -> bool:
    """Whether another run has ended, as far as the worker of a shipment's run can tell."""
    if run_id == shipment.run_id:
        return False
    mark, last_used = _RUNS.get(run_id, (None, 0.0))
    if mark is not None and shipment.alive is not None and Path(shipment.alive).exists():
        return not Path(mark).exists()  # on the driver's machine marks can be seen
    return time.monotonic() - last_used > _FORGOTTEN_AFTER
