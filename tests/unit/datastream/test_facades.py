"""Every PyFlink path that headrace serves exports what PyFlink's does, but for a few names."""

import importlib

import pytest

import headrace.common
import headrace.datastream
from headrace.parity import ApiClass, load_table

CACHE = "caching a stream between jobs is not there yet"
INTERNAL = "part of how PyFlink itself runs, not of what a program needs"

NOT_THERE = {
    "pyflink.datastream.data_stream": {"CachedDataStream": CACHE},
    "pyflink.datastream.functions": {
        "FunctionWrapper": INTERNAL,
        "InternalIterableAllWindowFunction": INTERNAL,
        "InternalIterableProcessAllWindowFunction": INTERNAL,
        "InternalIterableProcessWindowFunction": INTERNAL,
        "InternalIterableWindowFunction": INTERNAL,
        "InternalProcessAllWindowContext": INTERNAL,
        "InternalProcessWindowContext": INTERNAL,
        "InternalSingleValueAllWindowFunction": INTERNAL,
        "InternalSingleValueProcessAllWindowFunction": INTERNAL,
        "InternalSingleValueProcessWindowFunction": INTERNAL,
        "InternalSingleValueWindowFunction": INTERNAL,
        "InternalWindowFunction": INTERNAL,
        "JavaFunctionWrapper": INTERNAL,
        "ReduceFunctionWrapper": INTERNAL,
    },
    "pyflink.datastream.window": {"WindowOperationDescriptor": INTERNAL},
}

PATHS = (
    "pyflink.common.job_client",
    "pyflink.common.job_execution_result",
    "pyflink.datastream",
    "pyflink.datastream.checkpoint_config",
    "pyflink.datastream.checkpoint_storage",
    "pyflink.datastream.checkpointing_mode",
    "pyflink.datastream.data_stream",
    "pyflink.datastream.execution_mode",
    "pyflink.datastream.externalized_checkpoint_retention",
    "pyflink.datastream.functions",
    "pyflink.datastream.output_tag",
    "pyflink.datastream.slot_sharing_group",
    "pyflink.datastream.state",
    "pyflink.datastream.state_backend",
    "pyflink.datastream.stream_execution_environment",
    "pyflink.datastream.time_domain",
    "pyflink.datastream.timerservice",
    "pyflink.datastream.async_data_stream",
    "pyflink.datastream.async_retry_strategies",
    "pyflink.datastream.window",
)


TABLE = load_table()


def top_level(path: str) -> list[ApiClass]:
    """The classes PyFlink has at a path; nested ones come with their outer class."""
    known = (c for c in TABLE.classes if path in (c.module, *c.exports))
    return [c for c in known if "." not in c.name]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_exports_what_pyflinks_does(path: str) -> None:
    module = importlib.import_module(path.replace("pyflink", "headrace", 1))
    expected = {known.name for known in top_level(path)}
    assert expected, f"the table of names has nothing at {path}"
    missing = {name for name in expected if not hasattr(module, name)}
    assert missing == NOT_THERE.get(path, {}).keys()
    assert expected - missing <= set(getattr(module, "__all__", expected))


@pytest.mark.parametrize("path", PATHS)
def test_a_class_is_one_object_wherever_it_is_imported_from(path: str) -> None:
    module = importlib.import_module(path.replace("pyflink", "headrace", 1))
    for known in top_level(path):
        if known.name not in NOT_THERE.get(path, {}):
            home = importlib.import_module(known.module.replace("pyflink", "headrace", 1))
            assert getattr(module, known.name) is getattr(home, known.name)


def test_the_metrics_of_functions_are_there() -> None:
    metrics = importlib.import_module("headrace.metrics")
    base = importlib.import_module("headrace.metrics.metricbase")
    expected = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
    assert metrics.__all__ == base.__all__ == expected


def test_all_streams_can_be_imported_from_one_module() -> None:
    streams = importlib.import_module("headrace.datastream.data_stream")
    for name in streams.__all__:
        assert getattr(streams, name) is getattr(headrace.datastream, name)


def test_the_handle_and_the_result_of_a_job_are_common() -> None:
    assert {"JobClient", "JobExecutionResult"} <= set(headrace.common.__all__)
