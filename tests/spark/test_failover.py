"""A job that fails starts again as its restart strategy says, and nothing is lost or doubled."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import JobStatus, Types, WatermarkStrategy
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import JobFailed, UserFunctionFailed
from headrace.jobs.client import JobClient
from tests.conftest import IN_REAL_TIME
from tests.spark.conftest import wait_until
from tests.spark.fault_jobs import Ledger, Numbers, Once, raise_an_error

LinesOf = Callable[[Path], Counter[str]]

BAD = 121
SOURCE = Numbers(limit=100, step=50, pause=0.3 if IN_REAL_TIME else 0)
"""A job that flows would have no checkpoint when it fails."""


class CountPerKey(KeyedProcessFunction):
    """A running count per key; one record makes trouble."""

    def __init__(self, trouble: Callable[[], None]):
        self._trouble = trouble

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        if value[1] == BAD:
            self._trouble()
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{value[0]} #{count}"


def expected() -> Counter[str]:
    per_key = Counter(f"key-{n % 7}" for n in range(SOURCE.limit) for _ in range(SOURCE.count))
    return Counter(f"{key} #{n}" for key, total in per_key.items() for n in range(1, total + 1))


def with_trouble(
    env: StreamExecutionEnvironment, trouble: Callable[[], None], source: Numbers = SOURCE
) -> DataStream:
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counts = records.key_by(lambda record: record[0]).process(CountPerKey(trouble), Types.STRING())
    return counts.name("count per key").uid("counts")


def failing_queries(folder: Path, queries: int) -> Once:
    """Trouble that makes so many Spark queries fail, and no more: a record that the user's function
    cannot take is not tried again."""
    markers = folder / "markers"
    markers.mkdir()
    return Once(markers, queries, raise_an_error)


def settings(env: StreamExecutionEnvironment, **values: str) -> None:
    for name, value in values.items():
        key = name.replace("__", ".").replace("_", "-")
        env.configuration.set_string(key, value)


@pytest.fixture
def fixed_delay(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    settings(
        env, restart_strategy__type="fixed-delay", restart_strategy__fixed_delay__attempts="3",
        restart_strategy__fixed_delay__delay="50 ms",
    )  # fmt: skip
    return env


@pytest.mark.slow
def test_starts_again_until_it_works(
    fixed_delay: StreamExecutionEnvironment, tmp_path: Path, lines_of: LinesOf,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    env = fixed_delay
    env.enable_checkpointing(50)
    settings(env, execution__checkpointing__dir=str(tmp_path / "checkpoints"))
    trouble = failing_queries(tmp_path, 2)
    with_trouble(env, trouble).sink_to(Ledger(tmp_path / "out"))
    with caplog.at_level(logging.WARNING, "headrace"):
        client = env.execute_async("failing")
        client.get_job_execution_result().result()
    assert trouble.happened == 2
    assert lines_of(tmp_path / "out") == expected()
    assert sum("begins in 0.05 s" in line for line in caplog.messages) == 2
    newest, oldest = client.get_exceptions()
    assert (oldest.attempt, newest.attempt) == (1, 2)
    assert (newest.operator, newest.uid) == ("count per key", "counts")
    assert newest.message.startswith("RuntimeError: a passing trouble")
    history = client.get_checkpoints()
    counts = history.counts()
    failed = counts.failed if IN_REAL_TIME else 2  # it may fail between two checkpoints
    assert (counts.restored, counts.failed, counts.in_progress) == (2, failed, 0)
    completed = history.latest("completed")
    assert completed is not None
    assert completed.operators["counts"].entries == 7


@pytest.mark.slow
def test_gives_up_when_the_strategy_does(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    settings(
        env, restart_strategy__type="fixed-delay", restart_strategy__fixed_delay__delay="0 s"
    )  # fmt: skip
    trouble = failing_queries(tmp_path, 9)
    with_trouble(env, trouble).sink_to(Ledger(tmp_path / "out"))
    client = env.execute_async()
    with pytest.raises(UserFunctionFailed, match=r"after 1 restart \(fixed-delay, at most 1\)"):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FAILED
    assert [entry.attempt for entry in client.get_exceptions()] == [2, 1]
    assert trouble.happened == 2


@pytest.mark.micro_batch("without checkpoints a job that flows does not collect anew")
@pytest.mark.slow
@pytest.mark.smoke
def test_works_at_the_second_attempt(
    fixed_delay: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    """Without checkpoints, too; what was collected before the failure is not collected again."""
    counts = with_trouble(fixed_delay, failing_queries(tmp_path, 1))
    assert Counter(counts.execute_and_collect()) == expected()


def test_without_checkpoints_a_function_that_fails_is_not_called_again(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    trouble = failing_queries(tmp_path, 9)
    with_trouble(env, trouble).sink_to(Ledger(tmp_path / "out"))
    client = env.execute_async()
    with pytest.raises(UserFunctionFailed) as raised:
        client.get_job_execution_result().result()
    assert "restart" not in str(raised.value)
    assert trouble.happened == 1
    assert len(client.get_exceptions()) == 1


def test_cancelled_while_it_waits(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    settings(
        env, restart_strategy__type="fixed-delay", restart_strategy__fixed_delay__delay="1 h"
    )  # fmt: skip
    with_trouble(env, failing_queries(tmp_path, 9)).sink_to(Ledger(tmp_path / "out"))
    client = env.execute_async()
    wait_until(lambda: client.get_job_status().result() is JobStatus.RESTARTING)
    client.cancel().result(timeout=120)
    assert client.get_job_status().result() is JobStatus.CANCELED


def test_checkpoints_that_take_too_long_fail_the_job(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    env.enable_checkpointing(50)
    env.get_checkpoint_config().set_checkpoint_timeout(20)
    settings(env, restart_strategy__type="none")
    with_trouble(env, lambda: None).sink_to(Ledger(tmp_path / "out"))
    client = env.execute_async()
    with pytest.raises(JobFailed, match=r"took longer than 0\.02 s"):
        client.get_job_execution_result().result()
    failed = client.get_checkpoints().latest("failed")
    assert failed is not None
    assert failed.failure == "took longer than 0.02 s"


def test_tolerated_checkpoints_do_not(
    env: StreamExecutionEnvironment, tmp_path: Path, lines_of: LinesOf
) -> None:
    env.enable_checkpointing(50)
    env.get_checkpoint_config().set_checkpoint_timeout(20)
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(1000)
    with_trouble(env, lambda: None).sink_to(Ledger(tmp_path / "out"))
    client: JobClient = env.execute_async()
    client.get_job_execution_result().result()
    assert lines_of(tmp_path / "out") == expected()
    assert client.get_checkpoints().counts().failed > 0
