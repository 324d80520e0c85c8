"""An attempt leaves nothing open, whatever goes wrong first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.planner import plan
from headrace.runtime.flow.messages import TaskId
from headrace.spark.file_store import LocalStore
from headrace.spark.flow import attempt
from headrace.spark.flow.attempt import Attempt, StreamSettings
from headrace.spark.flow.channel import Server
from headrace.spark.flow.run import FlowRun
from headrace.spark.job_folder import JobFolder, RunNote


class Broken(Attempt):
    """Fails wherever it is told to."""

    fails_at: tuple[str, ...] = ()

    def _come_by(self, step: str) -> None:
        if step in self.fails_at:
            raise JobFailed(f"{step} has failed")

    def _prepare(self) -> None:
        self._come_by("prepare")

    def _run(self) -> None:
        self._come_by("run")

    def _leave(self) -> None:
        self.server.dismiss(0)
        self._come_by("leave")

    def drain(self) -> None:
        raise NotImplementedError

    def _why_lost(self, lost: TaskId) -> HeadraceError | None:
        raise NotImplementedError


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(attempt, "driver_host", lambda spark: "127.0.0.1")
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    folder = JobFolder(LocalStore(tmp_path), lasting=True)
    folder.begin(RunNote("job", 0, {}))
    return SimpleNamespace(
        spark=None,
        plan=plan(env.builder.take("job", **env._graph_settings())),
        shipment=None,
        settings=StreamSettings(),
        folder=folder,
        start=SimpleNamespace(restored=None),
    )


def test_one_that_cannot_begin_leaves_no_server(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    servers: list[Server] = []

    def made(*args: Any) -> Server:
        servers.append(Server(*args))
        return servers[-1]

    monkeypatch.setattr(attempt, "Server", made)
    monkeypatch.setattr(Broken, "fails_at", ("prepare",))
    with pytest.raises(JobFailed, match="prepare has failed"):
        Broken(job, 1, None)
    [server] = servers
    server._door.join(60)
    assert not server._door.is_alive()


@pytest.mark.parametrize(
    "fails_at", [("run",), ("leave",), ("run", "leave")], ids=lambda steps: " and ".join(steps)
)
def test_the_first_error_is_told(
    job: Any, monkeypatch: pytest.MonkeyPatch, fails_at: tuple[str, ...]
) -> None:
    monkeypatch.setattr(Broken, "fails_at", fails_at)
    run = Broken(job, 1, None)
    with pytest.raises(JobFailed, match=f"{fails_at[0]} has failed"):
        run.run()
    assert run.ended.is_set()


def test_an_enumerator_that_cannot_be_closed_does_not_keep_the_query() -> None:
    left: list[str] = []

    def fail() -> None:
        raise JobFailed("the enumerator cannot be closed")

    run: Any = FlowRun.__new__(FlowRun)
    run._feeds = SimpleNamespace(close=lambda: left.append("feeds"))
    run.server = SimpleNamespace(dismiss=lambda patience: left.append("tasks"))
    run.ledger = SimpleNamespace(close=fail)
    run._query = SimpleNamespace(stop=lambda: left.append("query"))
    with pytest.raises(JobFailed, match="cannot be closed"):
        run._leave()
    assert left == ["feeds", "tasks", "query"]
