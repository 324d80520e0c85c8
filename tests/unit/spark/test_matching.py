"""What becomes of sources, uids and timers when a changed program starts from stored state."""

from __future__ import annotations

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import NumberSequenceSource
from headrace.plan.planner import plan
from headrace.runtime.declarations import Declarations, declarations
from headrace.runtime.declared_state import Declared
from headrace.runtime.state_rows import RowForm
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from headrace.spark.savepoints.matching import Fate, fates, lost_operators
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata
from tests.unit.state.savepoints import operator


def planned(source_uid: str):
    env = StreamExecutionEnvironment()
    numbers = env.from_source(
        NumberSequenceSource(0, 9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()
    )
    keyed = numbers.uid(source_uid).key_by(lambda n: n)
    keyed.reduce(lambda a, b: a + b).uid("sums").print()
    return plan(env.builder.peek("job", **env._graph_settings()))


def stored(**more) -> SavepointMetadata:
    operators = [operator("numbers", source=True), operator("sums")]
    return SavepointMetadata({"id": "", "name": ""}, 1, 1, operators, **more)


def fate_of(metadata, physical, asked, uid, state):
    return next(each for each in fates(metadata, physical, asked)
                if (each.operator, each.state) == (uid, state))  # fmt: skip


def test_positions_of_sources():
    """Kept by uid, lost with it, and of no use to another kind of source."""
    asked = Declarations()
    splits = stored(sources={"numbers": {"splits": {}}})
    assert fate_of(splits, planned("numbers"), asked, "numbers", "(position)").fate is Fate.KEPT
    lost = planned("others")
    assert fate_of(splits, lost, asked, "numbers", "(position)").fate is Fate.DROPPED
    assert [each["uid"] for each in lost_operators(splits, lost)] == ["numbers"]
    assert "own beginning" in fate_of(splits, lost, asked, "others", "").why
    files = stored(sources={"numbers": {"files": []}})
    assert fate_of(files, planned("numbers"), asked, "numbers", "(position)").fate is Fate.DROPPED
    assert fate_of(stored(), planned("numbers"), asked, "numbers", "(position)").fate is Fate.NEW


def test_timers_of_another_scope():
    """Timers of windows mean nothing to an operator without windows."""
    physical = planned("numbers")
    form = RowForm(TIMERS, "window", False, {})
    metadata = stored(states=[SavedState("sums", TIMERS_NAME, form, None, "", 1)])
    asked = Declarations({"sums": {TIMERS_NAME: Declared(TIMERS, "keyed", False)}})
    assert fate_of(metadata, physical, asked, "sums", TIMERS_NAME).fate is Fate.INCOMPATIBLE


def test_declarations_are_found_by_opening():
    """The states of operators that headrace itself brings are known, too."""
    found = declarations(planned("numbers"))
    assert not found.failures
    [name] = [name for name in found.states["sums"] if name != TIMERS_NAME]
    assert found.states["sums"][name].kind == "value"
