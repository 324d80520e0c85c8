"""What Flink's settings mean to a job in real time."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.runtime.flow.messages import Alignment

_PREFIX = "execution.checkpointing."


def settings(**options: str) -> Any:
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)._stream_settings()


@pytest.mark.parametrize(
    ("options", "alignment"),
    [
        ({}, Alignment()),
        ({"unaligned.enabled": "true"}, Alignment(overtakes_after=0)),
        (
            {"unaligned.enabled": "true", "aligned-checkpoint-timeout": "3 s"},
            Alignment(overtakes_after=3000),
        ),
        ({"aligned-checkpoint-timeout": "3 s"}, Alignment()),
        ({"mode": "AT_LEAST_ONCE"}, Alignment(holds=False)),
        ({"mode": "AT_LEAST_ONCE", "unaligned.enabled": "true"}, Alignment(holds=False)),
    ],
)
def test_alignment(options, alignment):
    options = {f"{_PREFIX}{key}": value for key, value in options.items()}
    checkpoints = settings(**{f"{_PREFIX}interval": "1 s", **options}).checkpoints
    assert checkpoints.alignment == alignment
    assert checkpoints.interval == 1000


def test_without_an_interval_there_are_savepoints_only():
    assert settings().checkpoints.interval is None


@pytest.mark.parametrize(
    ("options", "at_most"),
    [({}, 3), ({"unaligned.enabled": "true"}, 1), ({"mode": "AT_LEAST_ONCE"}, 1)],
)
def test_checkpoints_at_once(options, at_most):
    options = {f"{_PREFIX}{key}": value for key, value in options.items()}
    several = {f"{_PREFIX}interval": "1 s", f"{_PREFIX}max-concurrent-checkpoints": "3"}
    assert settings(**several, **options).checkpoints.at_most == at_most


@pytest.mark.parametrize(
    ("value", "millis"), [(None, None), ("0 ms", 0), ("20 ms", 20), ("-1", -1)]
)
def test_buffer_timeout(value, millis):
    options = {} if value is None else {"execution.buffer-timeout.interval": value}
    assert settings(**options).buffer_timeout_ms == millis
