"""Pickling what travels between this job's own processes.

Plain pickle is fast but writes a class as its name, and a class of the user's script has no name
another process could import. Then cloudpickle writes the class itself.
"""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle


def dumps(value: Any) -> bytes:
    """Pickle in a worker, where a class of the user's script is known to have no module."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        packed: bytes = cloudpickle.dumps(value, 5)
        return packed


def dumps_for_workers(value: Any) -> bytes:
    """Pickle in the driver, where the user's script is `__main__`, as it is nowhere else."""
    packed: bytes = cloudpickle.dumps(value, 5)
    return packed
