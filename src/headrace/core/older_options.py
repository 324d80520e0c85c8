"""Options that Flink has given another name, and still takes by the one they had."""

from __future__ import annotations

from headrace.core.config import Configuration

NEWER_NAMES = {
    "execution.buffer-timeout": "execution.buffer-timeout.interval",
    "execution.checkpointing.alignment-timeout": (
        "execution.checkpointing.aligned-checkpoint-timeout"
    ),
    "execution.checkpointing.unaligned": "execution.checkpointing.unaligned.enabled",
    "execution.savepoint.ignore-unclaimed-state": "execution.state-recovery.ignore-unclaimed-state",
    "execution.savepoint.path": "execution.state-recovery.path",
    "pipeline.operator-chaining": "pipeline.operator-chaining.enabled",
    "restart-strategy": "restart-strategy.type",
    "savepoints.state.backend.fs.dir": "execution.checkpointing.savepoint-dir",
    "state.backend": "state.backend.type",
    "state.backend.changelog.enable": "state.changelog.enabled",
    "state.checkpoints.dir": "execution.checkpointing.dir",
    "state.checkpoints.num-retained": "execution.checkpointing.num-retained",
    "state.savepoints.dir": "execution.checkpointing.savepoint-dir",
}


def take_over(into: Configuration, given: Configuration) -> None:
    """Add settings to an environment's, those with an older name by the newer one as well."""
    into.add_all(given)
    values = given.to_dict()
    for older, newer in NEWER_NAMES.items():
        if older in values and newer not in values:
            into.set_string(newer, values[older])
