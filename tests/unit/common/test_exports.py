"""The modules of headrace.common only hand out what headrace.core defines."""

import ast
import importlib
import pkgutil

import pytest

import headrace.common

# These two belong to running jobs, so they come from headrace.jobs.
FROM_JOBS = {"job_client", "job_execution_result"}
MODULES = [name for _, name, _ in pkgutil.iter_modules(headrace.common.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_a_facade_has_no_code_of_its_own(name: str) -> None:
    module = importlib.import_module(f"headrace.common.{name}")
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as source:  # noqa: PTH123
        body = ast.parse(source.read()).body
    assert {type(node) for node in body[1:]} <= {ast.ImportFrom, ast.Assign}
    assert isinstance(body[0], ast.Expr)
    origins = {node.module for node in body if isinstance(node, ast.ImportFrom)}
    layer = "headrace.jobs" if name in FROM_JOBS else "headrace.core"
    assert all(origin is not None and origin.startswith(layer) for origin in origins)
    assert module.__all__ == sorted(module.__all__, key=_all_order)
    assert all(hasattr(module, exported) for exported in module.__all__)


def _all_order(name: str) -> tuple[bool, str]:
    return not name.isupper(), name


def test_the_package_exports_what_pyflinks_does() -> None:
    expected = {
        "AssignerWithPeriodicWatermarksWrapper",
        "ByteArraySchema",
        "CompletableFuture",
        "ConfigOption",
        "ConfigOptions",
        "Configuration",
        "DeserializationSchema",
        "Duration",
        "Encoder",
        "ExecutionConfig",
        "InputDependencyConstraint",
        "Instant",
        "JobID",
        "JobStatus",
        "RestartStrategies",
        "RestartStrategyConfiguration",
        "Row",
        "RowKind",
        "SerializationSchema",
        "SimpleStringSchema",
        "Time",
        "TypeInformation",
        "TypeSerializer",
        "Types",
        "WatermarkStrategy",
    }
    assert expected <= set(headrace.common.__all__)
    assert set(headrace.common.__all__) - expected <= {"JobClient", "JobExecutionResult"}
    assert all(hasattr(headrace.common, name) for name in headrace.common.__all__)
