"""The savepoint of every operator that keeps state: read, resumed on Spark and in process."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

import headrace.operators
from headrace.core.operator import Operator
from headrace.datastream import StreamExecutionEnvironment
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.declarations import declarations
from headrace.runtime.state_rows import scope_and_name
from tests.savepoints import in_process, make_v1, make_v2
from tests.savepoints.v2_records import STEPS
from tests.spark.savepoint_jobs import settings
from tests.spark.test_frozen_savepoints import FOLDER

V2 = FOLDER / "v2"
HOLDS_NOTHING = {
    "AsyncWaitOperator": "all answers are out before a batch ends",
    "CalcOperator": "a row at a time",
    "CoMapOperator": "a record at a time; a function with state is that of CoFlatMapOperator",
    "CollectOperator": "hands over what it gets",
    "ConstraintEnforcerOperator": "a row at a time",
    "CorrelateOperator": "a row at a time",
    "DiscardOperator": "does nothing",
    "DropUpdateBeforeOperator": "a row at a time",
    "ExpandOperator": "a row at a time",
    "FilterOperator": "a record at a time; a function with state is that of ProcessOperator",
    "FlatMapOperator": "a record at a time; a function with state is that of ProcessOperator",
    "FromChangelogOperator": "a row at a time",
    "InvokeOperator": "hands records to the user's function",
    "LocalAggregateOperator": "its groups are out before a batch ends",
    "LookupJoinOperator": "a cache, which is filled again",
    "MapOperator": "a record at a time; a function with state is that of ProcessOperator",
    "PrintOperator": "hands over what it gets",
    "ToChangelogOperator": "a row at a time",
    "TransactionOperator": "transactions are noted in the job's journal, not in a savepoint",
    "TimestampsOperator": "what it knows of time is in every savepoint, by uid",
    "WatermarkAssignerOperator": "what it knows of time is in every savepoint, by uid",
    "WindowTableOperator": "a row at a time",
    "WriteOperator": "what is prepared is noted in the job's journal, not in a savepoint",
}
BASES = {
    "ChangingOperator", "CheckpointingOperator", "FunctionOperator", "KeyedChangesOperator",
    "OneByOneOperator", "PaneOperator", "ProducingOperator", "TableOperator", "WindowAggregateBase",
    "WindowRowsOperator", "WindowedTableOperator", "WindowsBySpec",
}  # fmt: skip
"""What operators share; none of them is part of a plan."""
NOT_FROZEN = {
    "EndSortOperator": "runs in BATCH mode only, where there are no savepoints",
    "FirstRowOperator": "runs in BATCH mode only, where there are no savepoints",
    "PartitionOverOperator": "runs in BATCH mode only, where there are no savepoints",
    "ProctimeSortOperator": "keeps rows for a millisecond",
    "ProcessingTimeTemporalJoinOperator": "Flink has no processing-time join with a changing table",
}
"""Operators with state that is in no savepoint here, and why."""


def planned(module: object, parallelism: int = 2) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    built = module.build(env, ends=True)  # type: ignore[attr-defined]
    if built is not None:
        built.print().uid("files")
    return plan(env.builder.peek("savepoint", **env._graph_settings()))


def afterwards() -> list[str]:
    return (FOLDER / "v2.afterwards.txt").read_text(encoding="utf-8").splitlines()


def test_a_run_without_interruption_tells_the_same() -> None:
    assert in_process.told_by(planned(make_v2), since=len(STEPS)) == afterwards()


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_v2_goes_on_in_process(parallelism: int) -> None:
    resumed = planned(make_v2, parallelism)
    snapshot = in_process.snapshot_of(V2, resumed)
    assert in_process.told_by(resumed, since=len(STEPS), snapshot=snapshot) == afterwards()


@pytest.mark.micro_batch("which changes are told in between depends on micro-batches")
@pytest.mark.slow
def test_v2_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"execution_state__recovery_path": str(V2)}
    env = StreamExecutionEnvironment.get_execution_environment(settings(tmp_path / "c", **more))
    env.set_parallelism(3)
    make_v2.build(env, ends=True)
    capsys.readouterr()
    env.execute("savepoint v2")
    assert in_process.lines(capsys.readouterr().out.splitlines()) == afterwards()


def operators() -> dict[str, type[Operator]]:
    """Every operator that can be part of a plan, by name."""
    found = {}
    prefix = headrace.operators.__name__ + "."
    for module in pkgutil.walk_packages(headrace.operators.__path__, prefix):
        for name, kind in inspect.getmembers(import_module(module.name), inspect.isclass):
            if issubclass(kind, Operator) and kind.__module__ == module.name and name[0] != "_":
                found[f"{module.name.removeprefix(prefix)}.{name}"] = kind
    return {name: kind for name, kind in found.items() if kind.__name__ not in BASES}


@pytest.fixture(scope="module")
def frozen() -> dict[type[Operator], set[str]]:
    """The names of the states that savepoints have of each kind of operator."""
    found: dict[type[Operator], set[str]] = defaultdict(set)
    for module, folder in ((make_v1, "v1"), (make_v2, "v2")):
        kinds = {v.uid: type(v.operator) for v in planned(module).vertices.values()}
        for state in in_process.metadata_of(FOLDER / folder).states:
            found[kinds[state.operator]].add(state.name)
    return found


@pytest.mark.parametrize("name", operators())
def test_every_operator_is_frozen_or_on_a_list(
    name: str, frozen: dict[type[Operator], set[str]]
) -> None:
    """A new operator with state goes into the next savepoint; see tests/savepoints/README.md."""
    kind = operators()[name]
    if kind in frozen:
        assert kind.__name__ not in {**HOLDS_NOTHING, **NOT_FROZEN}
    else:
        assert kind.__name__ in {**HOLDS_NOTHING, **NOT_FROZEN}, "it is in no frozen savepoint"


SOURCE = Path(headrace.operators.__path__[0]).parent


def declared_names() -> set[str]:
    """The names that operators give their states."""
    found = set()
    for path in (SOURCE / "operators").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("StateDescriptor"):
                texts = [
                    part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)
                ]
                found |= {str(text) for text in texts}
    return found


UNUSED_NAMES = {
    "emitted": "of FirstRowOperator",
    "latest": "of ProcessingTimeTemporalJoinOperator",
    "rows-by-key": "no query gives a rank updates without the rows before them",
    "slices-again": "of windows by the clock, whose results are other ones each time",
    "slices-fired": "of windows by the clock, whose results are other ones each time",
    "tidied-at": "came after the savepoint, which is to be read without it",
    "waiting-row": "of FirstRowOperator",
}
"""States that are not frozen, and why."""


def test_every_state_of_operators_is_frozen(frozen: dict[type[Operator], set[str]]) -> None:
    names = {name.removeprefix("headrace:") for states in frozen.values() for name in states}
    assert declared_names() - names - UNUSED_NAMES.keys() == set()


_ACCUMULATORS = "each aggregate keeps what it needs, one after the other in a list"
_THE_PROGRAMS = "records and accumulators of the program, whose types no operator is told"
PARTLY_PICKLED = {
    "events-waiting": _THE_PROGRAMS,
    "group-windows": "an object of a class, which savepoints of users have",
    "groups": _ACCUMULATORS,
    "headrace:merging-windows": "windows of any class, also of the program's",
    "headrace:sessions": _THE_PROGRAMS,
    "headrace:slices": _THE_PROGRAMS,
    "headrace:window-contents": _THE_PROGRAMS,
    "kept": _ACCUMULATORS,
    "left-buffer": _THE_PROGRAMS,
    "open-windows": _ACCUMULATORS,
    "partial-matches": _THE_PROGRAMS,
    "reduced": _THE_PROGRAMS,
    "right-buffer": _THE_PROGRAMS,
    "rows": "the results of OVER, which are None at first",
    "sessions": _ACCUMULATORS,
    "slices": _ACCUMULATORS,
    "windows": _ACCUMULATORS,
}
"""States of operators in which no type can be named for something, and why."""


def test_the_state_of_operators_has_types() -> None:
    """Stored state follows a type that changes; what is pickled stays what it was."""
    pickled = {
        scope_and_name(name)[1]
        for states in declarations(planned(make_v2)).states.values()
        for name, declared in states.items()
        if "PICKLED" in str(declared.type)
    }
    assert pickled == PARTLY_PICKLED.keys()
