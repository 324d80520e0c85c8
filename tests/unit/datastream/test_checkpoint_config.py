"""Checkpoint settings, and the configuration they are kept in."""

from collections.abc import Callable
from typing import Any

import pytest

from headrace.core.config import Configuration
from headrace.core.time import Duration
from headrace.datastream.checkpoint_config import INTERVAL, MODE, RETENTION, CheckpointConfig
from headrace.datastream.checkpoint_storage import (
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported


def test_defaults_are_flinks() -> None:
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.is_force_unaligned_checkpoints()
    assert config.get_alignment_timeout() == Duration.of_millis(0)


def test_checkpoints_are_exactly_once_once_they_are_made() -> None:
    config = CheckpointConfig().set_checkpoint_interval(1000)
    assert config.is_checkpointing_enabled()
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE


def test_settings_use_flinks_keys() -> None:
    configuration = Configuration()
    (
        CheckpointConfig(configuration)
        .set_checkpoint_interval(100)
        .set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
        .set_checkpoint_timeout(10)
        .set_min_pause_between_checkpoints(5)
        .set_max_concurrent_checkpoints(3)
        .set_tolerable_checkpoint_failure_number(2)
        .set_externalized_checkpoint_retention(
            ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
        )
        .enable_unaligned_checkpoints()
        .set_force_unaligned_checkpoints()
        .set_alignment_timeout(Duration.of_seconds(1))
    )
    prefix = "execution.checkpointing"
    assert configuration.to_dict() == {
        f"{prefix}.interval": "100 ms",
        f"{prefix}.mode": "AT_LEAST_ONCE",
        f"{prefix}.timeout": "10 ms",
        f"{prefix}.min-pause": "5 ms",
        f"{prefix}.max-concurrent-checkpoints": "3",
        f"{prefix}.tolerable-failed-checkpoints": "2",
        f"{prefix}.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        f"{prefix}.unaligned.enabled": "true",
        f"{prefix}.unaligned.forced": "true",
        f"{prefix}.aligned-checkpoint-timeout": "1000 ms",
    }


def test_settings_written_as_text_are_read() -> None:
    config = CheckpointConfig(
        Configuration.from_dict(
            {
                INTERVAL: "3min",
                MODE: "at-least-once",
                RETENTION: "DELETE_ON_CANCELLATION",
            }
        )
    )
    assert config.get_checkpoint_interval() == 180_000
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.is_externalized_checkpoints_enabled()


def test_an_unknown_word_in_the_configuration_is_named() -> None:
    config = CheckpointConfig(Configuration.from_dict({INTERVAL: "1s", MODE: "twice"}))
    with pytest.raises(InvalidArgument, match=r"'twice'.*EXACTLY_ONCE"):
        config.get_checkpointing_mode()


def test_only_exactly_once_has_unaligned_checkpoints() -> None:
    config = CheckpointConfig().set_checkpoint_interval(100).enable_unaligned_checkpoints()
    assert config.is_unaligned_checkpoints_enabled()
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    assert not config.is_unaligned_checkpoints_enabled()
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE).disable_unaligned_checkpoints()
    assert not config.is_unaligned_checkpoints_enabled()


def test_failing_on_errors_is_tolerating_none() -> None:
    config = CheckpointConfig().set_fail_on_checkpointing_errors(False)
    assert config.get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert not config.is_fail_on_checkpointing_errors()
    assert config.set_fail_on_checkpointing_errors(True).is_fail_on_checkpointing_errors()


@pytest.mark.parametrize(
    ("method", "value", "least"),
    [
        ("set_checkpoint_interval", 9, 10),
        ("set_checkpoint_timeout", 9, 10),
        ("set_min_pause_between_checkpoints", -1, 0),
        ("set_max_concurrent_checkpoints", 0, 1),
        ("set_tolerable_checkpoint_failure_number", -1, 0),
    ],
)
def test_values_below_the_least_are_refused(method: str, value: int, least: int) -> None:
    change: Callable[[Any], object] = getattr(CheckpointConfig(), method)
    with pytest.raises(InvalidArgument, match=f"at least {least}, not {value}"):
        change(value)
    with pytest.raises(TypeMismatch, match="not an int"):
        change("1 s")
    change(least)


def test_a_mode_is_no_text() -> None:
    with pytest.raises(TypeMismatch, match=r"CheckpointingMode\.EXACTLY_ONCE"):
        CheckpointConfig().set_checkpointing_mode("EXACTLY_ONCE")  # type: ignore[arg-type]


def test_file_system_storage() -> None:
    storage = FileSystemCheckpointStorage("file:///var/checkpoints")
    assert storage.get_checkpoint_path() == "file:/var/checkpoints"
    for given, shown in {"file://host/a/": "file://host/a", "hdfs:///a/./b": "hdfs:/a/b"}.items():
        assert FileSystemCheckpointStorage(given).get_checkpoint_path() == shown
        assert JobManagerCheckpointStorage(given).get_checkpoint_path() == shown
    assert storage.get_savepoint_path() is None
    assert storage.get_min_file_size_threshold() == 20 * 1024
    assert FileSystemCheckpointStorage("s3://b", 8192, 100).get_write_buffer_size() == 8192
    with pytest.raises(InvalidArgument, match="checkpoint path"):
        FileSystemCheckpointStorage()
    with pytest.raises(InvalidArgument, match="threshold"):
        FileSystemCheckpointStorage("s3://b", 2 * 1024**2)


def test_job_manager_storage() -> None:
    assert JobManagerCheckpointStorage().get_checkpoint_path() is None
    assert JobManagerCheckpointStorage().get_max_state_size() == 5 * 1024**2
    assert JobManagerCheckpointStorage("file:///c", 33).get_max_state_size() == 33
    with pytest.raises(InvalidArgument, match="largest state"):
        JobManagerCheckpointStorage(max_state_size=0)


def test_java_storage_is_refused() -> None:
    with pytest.raises(Unsupported, match="Java object"):
        CustomCheckpointStorage(object())
