"""Jobs that start again within their process, or do not get as far as starting."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.errors import InvalidArgument
from tests.conftest import IN_REAL_TIME
from tests.spark.fault_jobs import Ledger, Numbers, Once, raise_an_error

NO_TIME = WatermarkStrategy.no_watermarks()


class Everyone(ProcessFunction, CheckpointedFunction):
    """Says with each record which subtasks had left their number when this one started."""

    def __init__(self, disturb: Callable[[], None], at: int):
        self._disturb, self._at = disturb, at

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._kept = store.get_union_list_state(ListStateDescriptor("numbers", Types.LONG()))
        self._before = sorted(self._kept.get() or ())

    def open(self, runtime_context: RuntimeContext) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._kept.update([self._subtask])

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[str]:
        if value[1] >= self._at and self._subtask == 0:
            self._disturb()
        yield f"{value[1]} {self._subtask} {self._before}"


@pytest.mark.parametrize("lasting", [True, False])
def test_union_state_is_given_to_all_when_a_job_starts_again(
    tmp_path: Path, lines_of: Callable[[Path], Counter[str]], lasting: bool
) -> None:
    (tmp_path / "markers").mkdir()
    disturb = Once(tmp_path / "markers", 1, raise_an_error)
    settings = Configuration()
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "3")
    settings.set_string("restart-strategy.fixed-delay.delay", "0 ms")
    if lasting:
        settings.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    env.enable_checkpointing(10)
    # A job that flows would have no checkpoint when it fails.
    source = Numbers(limit=80, step=20, pause=0.3 if IN_REAL_TIME else 0)
    numbers = env.from_source(source, NO_TIME, "numbers").uid("numbers")
    told = numbers.process(Everyone(disturb, at=100), Types.STRING()).uid("everyone")
    told.sink_to(Ledger(tmp_path / "out")).uid("out")
    client = env.execute_async()
    client.get_job_execution_result().result()
    assert disturb.happened == 1
    assert client.get_exceptions()
    lines = [line.split(" ", 2) for line in lines_of(tmp_path / "out").elements()]
    assert sorted(int(number) for number, _, _ in lines) == list(range(160))
    assert {before for number, _, before in lines if int(number) < 40} == {"[]"}
    # What was under way when it failed; later a subtask may go on in another worker.
    again = {(subtask, before) for number, subtask, before in lines if 80 <= int(number) < 120}
    if IN_REAL_TIME:  # the task that did not fail may have been further at the last checkpoint
        again.discard(("1", "[]"))
    assert again == {("0", "[0, 1]"), ("1", "[0, 1]")}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process alone leaves what is temporary."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_job_that_does_not_start_leaves_nothing_behind(tmp_path: Path, temporary: Path) -> None:
    settings = Configuration()
    settings.set_string("execution.state-recovery.path", str(tmp_path / "nowhere"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.enable_checkpointing(100)
    env.from_source(Numbers(limit=5, step=1), NO_TIME, "numbers").print()
    with pytest.raises(InvalidArgument, match="neither a savepoint nor a checkpoint"):
        env.execute_async()
    assert not list(temporary.iterdir())


def test_looking_at_a_plan_leaves_nothing_behind(temporary: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(100)
    env.from_source(Numbers(limit=5, step=1), NO_TIME, "numbers").print()
    text = env.explain()
    assert "one stream of records through these stages" in text
    assert "MapInArrow" in text
    assert not list(temporary.iterdir())
