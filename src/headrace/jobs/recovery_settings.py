"""What a job starts from and what it keeps, as its configuration says.

Each setting has the name it has today and older ones that are still read, as in Flink.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.core.config import Configuration
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

RECOVERY_PATH = ("execution.state-recovery.path", "execution.savepoint.path")
IGNORE_UNCLAIMED = (
    "execution.state-recovery.ignore-unclaimed-state",
    "execution.savepoint.ignore-unclaimed-state",
)
SAVEPOINT_DIRECTORY = (
    "execution.checkpointing.savepoint-dir",
    "state.savepoints.dir",
    "savepoints.state.backend.fs.dir",
)
NUM_RETAINED = ("execution.checkpointing.num-retained", "state.checkpoints.num-retained")


@dataclass(frozen=True)
class RecoverySettings:
    """Which state a job starts with."""

    path: str | None = None
    """A savepoint or a retained checkpoint; None: the job's own latest checkpoint, if any."""
    allow_non_restored: bool = False
    """Start even if some of that state belongs to operators the job does not have."""


def recovery_settings(configuration: Configuration) -> RecoverySettings:
    return RecoverySettings(
        configuration.get_string(_set_key(configuration, RECOVERY_PATH), "").strip() or None,
        configuration.get_boolean(_set_key(configuration, IGNORE_UNCLAIMED), False),
    )


def savepoint_directory(configuration: Configuration) -> str | None:
    """Where savepoints go that are not told where to go."""
    return (
        configuration.get_string(_set_key(configuration, SAVEPOINT_DIRECTORY), "").strip() or None
    )


def retained_checkpoints(configuration: Configuration) -> int:
    """How many of the latest checkpoints a job can go back to."""
    key = _set_key(configuration, NUM_RETAINED)
    kept = configuration.get_integer(key, 1)
    if kept < 1:
        raise InvalidArgument(
            f"setting {key!r} is {kept}, but at least one checkpoint must be kept",
            origin=calling_origin(),
        )
    return kept


def _set_key(configuration: Configuration, keys: tuple[str, ...]) -> str:
    """The first key that is set; the newest name if none is."""
    return next((key for key in keys if configuration.contains_key(key)), keys[0])
