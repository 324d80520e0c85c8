"""What a job starts from, and where and how many checkpoints it leaves."""

from __future__ import annotations

import pytest

from headrace.core.config import Configuration
from headrace.errors import InvalidArgument
from headrace.jobs.recovery_settings import (
    RecoverySettings,
    recovery_settings,
    retained_checkpoints,
    savepoint_directory,
)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, RecoverySettings(None, False)),
        ({"execution.state-recovery.path": "/s/1"}, RecoverySettings("/s/1", False)),
        ({"execution.savepoint.path": "/s/2"}, RecoverySettings("/s/2", False)),
        (
            {"execution.savepoint.path": "/old", "execution.state-recovery.path": "/new"},
            RecoverySettings("/new", False),
        ),
        (
            {
                "execution.state-recovery.path": "/s",
                "execution.state-recovery.ignore-unclaimed-state": "true",
            },
            RecoverySettings("/s", True),
        ),
        ({"execution.savepoint.ignore-unclaimed-state": "true"}, RecoverySettings(None, True)),
    ],
)
def test_recovery_settings(settings: dict[str, str], expected: RecoverySettings) -> None:
    assert recovery_settings(Configuration.from_dict(settings)) == expected


def test_savepoint_directory_and_retained_checkpoints() -> None:
    unset = Configuration()
    assert savepoint_directory(unset) is None
    assert retained_checkpoints(unset) == 1
    older = Configuration.from_dict(
        {"state.savepoints.dir": "/s", "state.checkpoints.num-retained": "3"}
    )
    assert savepoint_directory(older) == "/s"
    assert retained_checkpoints(older) == 3
    newer = Configuration(older)
    newer.set_string("execution.checkpointing.savepoint-dir", "/n")
    newer.set_integer("execution.checkpointing.num-retained", 5)
    assert savepoint_directory(newer) == "/n"
    assert retained_checkpoints(newer) == 5
    newer.set_integer("execution.checkpointing.num-retained", 0)
    with pytest.raises(InvalidArgument, match="at least one"):
        retained_checkpoints(newer)
