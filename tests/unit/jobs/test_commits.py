"""What is committed, what is thrown away, and what must not be committed once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import CorruptState, IncompatibleState
from headrace.jobs.commits import SinkCommits
from headrace.jobs.journal import CommitJournal
from headrace.plan.planner import plan
from headrace.runtime.flow.checkpoint import CheckpointId
from headrace.spark.file_store import LocalStore

CALLS: list[tuple[str, list[Any]]] = []


class Recorded(Sink[Any]):
    def create_writer(self, task: Any) -> SinkWriter[Any]:
        raise NotImplementedError

    def create_committer(self) -> Committer[Any]:
        return _Recorder()


class _Recorder(Committer[Any]):
    def commit(self, committables: list[Any]) -> None:
        CALLS.append(("commit", committables))

    def recover(self, committables: list[Any]) -> None:
        CALLS.append(("recover", committables))

    def abort(self, committables: list[Any]) -> None:
        CALLS.append(("abort", committables))


@pytest.fixture(autouse=True)
def nothing_called() -> None:
    CALLS.clear()


def commits(folder: Path, uid: str = "sink", *, may_lose: bool = False) -> SinkCommits:
    """As a program that was started anew has them."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(Recorded()).uid(uid)
    planned = plan(env.builder.take("job", **env._graph_settings()))
    return SinkCommits(planned, CommitJournal(LocalStore(folder)), may_lose=may_lose)


def two_batches(folder: Path) -> SinkCommits:
    made = commits(folder)
    made.recover(None, 1)
    for batch in (0, 1):
        made.note(batch, {"sink": [batch]})
    return made


def test_what_is_checkpointed_is_committed(tmp_path: Path) -> None:
    made = two_batches(tmp_path)
    made.commit_upto(0)
    assert CALLS == [("commit", [0])]
    made.commit_upto(1)
    assert CALLS == [("commit", [0]), ("commit", [1])]


def test_a_restart_commits_or_aborts(tmp_path: Path) -> None:
    two_batches(tmp_path)
    commits(tmp_path).recover(CheckpointId(0, 1), 2)
    assert CALLS == [("recover", [0]), ("abort", [1])]
    commits(tmp_path).recover(CheckpointId(0, 1), 2)
    assert len(CALLS) == 2


def test_output_of_a_sink_that_is_gone_is_not_dropped(tmp_path: Path) -> None:
    two_batches(tmp_path / "before")
    changed = commits(tmp_path / "now", "another sink")
    with pytest.raises(IncompatibleState, match="checkpoint 0 left prepared output of 'sink'"):
        changed.recover(CheckpointId(0, 1), 2, CommitJournal(LocalStore(tmp_path / "before")))
    assert CALLS == []
    # Whoever brings the sink back finds everything.
    before = CommitJournal(LocalStore(tmp_path / "before"))
    commits(tmp_path / "again").recover(CheckpointId(1, 1), 2, before)
    assert CALLS == [("recover", [0]), ("recover", [1])]


def test_output_of_a_sink_that_is_gone_may_be_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    two_batches(tmp_path / "before")
    changed = commits(tmp_path / "now", "another sink", may_lose=True)
    changed.recover(CheckpointId(0, 1), 2, CommitJournal(LocalStore(tmp_path / "before")))
    assert "stays uncommitted" in caplog.text
    assert CALLS == []


def test_a_lost_journal(tmp_path: Path) -> None:
    two_batches(tmp_path).commit_upto(1)
    LocalStore(tmp_path).delete()
    with pytest.raises(CorruptState, match="settled is missing"):
        commits(tmp_path).recover(CheckpointId(1, 1), 2)


def test_a_checkpoint_whose_output_is_committed_must_be_there(tmp_path: Path) -> None:
    two_batches(tmp_path).commit_upto(1)
    with pytest.raises(CorruptState, match="output of checkpoint 1 is committed, but the last"):
        commits(tmp_path).recover(CheckpointId(0, 1), 2)
