"""Settings, the options that describe them, and the execution config on top."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from headrace.core.config import ConfigOptions, Configuration
from headrace.core.execution_config import ExecutionConfig
from headrace.core.time import Duration
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported


def test_values_are_read_as_the_type_asked_for() -> None:
    config = Configuration().set_string("s", "x").set_integer("i", 5)
    config.set_boolean("b", True).set_float("f", 1.5).set_bytearray("y", bytearray(b"ab"))
    assert config.get_string("i", "") == "5"
    assert config.get_string("b", "") == "true"
    assert config.get_float("i", 0.0) == 5.0
    assert config.get_bytearray("y", bytearray()) == b"ab"
    assert Configuration.from_dict({"b": "TRUE", "i": "7"}).get_boolean("b", False) is True
    assert config.get_integer("missing", 3) == 3
    assert config.key_set() == {"s", "i", "b", "f", "y"}


@pytest.mark.parametrize(
    ("text", "millis"),
    [("10 s", 10_000), ("200ms", 200), ("5", 5), ("1 min", 60_000), ("2 d", 172_800_000)],
)
def test_durations(text: str, millis: int) -> None:
    config = Configuration().set_string("d", text)
    assert config.get_duration("d", Duration.of_millis(0)) == Duration.of_millis(millis)


def test_bad_values_are_named_with_their_key() -> None:
    config = Configuration().set_string("k", "x")
    with pytest.raises(InvalidArgument, match="setting 'k' is 'x', which cannot be read as int"):
        config.get_integer("k", 1)
    with pytest.raises(InvalidArgument, match="read as bool"):
        config.get_boolean("k", True)
    with pytest.raises(InvalidArgument, match="read as Duration"):
        config.get_duration("k", Duration.of_millis(1))
    with pytest.raises(TypeMismatch, match="setting 'k' takes int, not True of type bool"):
        config.set_integer("k", True)
    with pytest.raises(TypeMismatch, match="takes str"):
        config.set_string("k", 5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="non-empty string"):
        config.set_string("", "x")


def test_combining_and_comparing() -> None:
    one = Configuration().set_string("a", "1")
    two = Configuration(one).set_integer("b", 2)
    assert "b" not in one.key_set()
    assert Configuration().add_all(two, "p.").to_dict() == {"p.a": "1", "p.b": "2"}
    collected: dict[str, Any] = {}
    two.add_all_to_dict(collected)
    assert collected == {"a": "1", "b": 2}
    assert copy.deepcopy(two) == two
    assert hash(copy.deepcopy(two)) == hash(two)
    assert (two.remove_config("b"), two.remove_config("b")) == (True, False)
    assert two == one
    assert str(one) == "{a=1}"
    assert one.contains_key("a")


@pytest.mark.parametrize(
    ("text", "parts"),
    [("", []), ("a;b", ["a", "b"]), ("[a, 'b c', 3]", ["a", "b c", "3"]), ("- a\n- b", ["a", "b"])],
)
def test_lists(text: str, parts: list[str]) -> None:
    assert Configuration.parse_list_value(text) == parts


def test_options() -> None:
    number = ConfigOptions.key("n").int_type().default_value(4)
    text = ConfigOptions.key("t").string_type().no_default_value()
    config = Configuration()
    assert config.get(number) == 4
    assert config.get(number, 5) == 5
    assert config.get(text) is None
    assert config.set(number, 9).get(number) == 9
    assert config.get_string("n", "") == "9"
    with pytest.raises(InvalidArgument):
        ConfigOptions.key("")


def test_execution_config_has_flinks_defaults() -> None:
    config = ExecutionConfig()
    assert config.get_auto_watermark_interval() == 200
    assert config.get_latency_tracking_interval() == 0
    assert (config.get_parallelism(), config.get_max_parallelism()) == (-1, -1)
    assert config.get_task_cancellation_interval() == 30_000
    assert config.get_task_cancellation_timeout() == 180_000
    assert config.has_auto_generated_uids_enabled()
    assert config.is_closure_cleaner_enabled()
    assert not config.has_generic_types_disabled()
    assert not config.is_object_reuse_enabled()
    assert not config.is_use_snapshot_compression()
    assert config.get_global_job_parameters() == {}


def test_execution_config_writes_to_its_configuration() -> None:
    configuration = Configuration().set_string("pipeline.auto-watermark-interval", "1 s")
    config = ExecutionConfig(configuration)
    assert config.get_auto_watermark_interval() == 1000
    config.set_parallelism(4).set_max_parallelism(64).set_auto_watermark_interval(0)
    config.disable_auto_generated_uids().disable_generic_types().enable_object_reuse()
    config.disable_closure_cleaner().set_use_snapshot_compression(True)
    config.set_global_job_parameters({"flag": True, "n": 5})
    assert configuration.get_integer("parallelism.default", 0) == 4
    assert config.get_auto_watermark_interval() == 0
    assert config.has_generic_types_disabled()
    assert not config.has_auto_generated_uids_enabled()
    assert not config.is_closure_cleaner_enabled()
    assert config.get_global_job_parameters() == {"flag": "true", "n": "5"}
    assert config != ExecutionConfig()
    given = Configuration().set_string("pipeline.global-job-parameters", "a:1,b:2")
    assert ExecutionConfig(given).get_global_job_parameters() == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda config: config.set_parallelism(0), InvalidArgument),
        (lambda config: config.set_max_parallelism(32_769), InvalidArgument),
        (lambda config: config.set_parallelism("2"), TypeMismatch),
        (lambda config: config.set_auto_watermark_interval(-1), InvalidArgument),
        (lambda config: config.set_global_job_parameters(5), TypeMismatch),
        (lambda config: config.enable_force_kryo(), Unsupported),
        (lambda config: config.enable_force_avro(), Unsupported),
    ],
)
def test_execution_config_refuses(
    change: Callable[[ExecutionConfig], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        change(ExecutionConfig())
