"""A job's folder remembers its job."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import CorruptState
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.spark.file_store import LocalStore
from headrace.spark.flow.checkpoint_files import (
    CheckpointFiles,
    begin_attempt,
    last_checkpoint,
)
from headrace.spark.job_folder import JobFolder, RunNote, shape_of
from headrace.spark.savepoints import opening
from headrace.spark.savepoints.opening import Start, open_run, remove_earlier_runs


def a_plan(*, parallelism: int = 2, name: str = "count") -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.from_collection([1]).key_by(lambda v: v).sum(0).name(name).print()
    return plan(env.builder.take("job", **env._graph_settings()))


def folder_at(path: Path) -> JobFolder:
    return JobFolder(LocalStore(path), lasting=True)


def test_a_resumed_job_keeps_the_name_of_its_output(tmp_path: Path) -> None:
    folder_at(tmp_path).begin(RunNote("first", 0, shape_of(a_plan())))
    note = folder_at(tmp_path).note
    assert note is not None
    assert note.run_output_id == "first"
    assert note.shape == shape_of(a_plan())


def test_output_of_another_run_has_another_name() -> None:
    assert RunNote("first", 2, {}).run_output_id == "first-2"


@pytest.mark.parametrize("other", [a_plan(parallelism=3), a_plan(name="renamed")])
def test_another_parallelism_or_graph_is_another_shape(other: PhysicalPlan) -> None:
    assert shape_of(other) != shape_of(a_plan())


def test_a_sink_that_gains_a_committer_is_another_shape() -> None:
    """Its run has no journal, and must not be taken for one that has lost it."""

    def writing(sink: Sink[Any]) -> PhysicalPlan:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).sink_to(sink).uid("out")
        return plan(env.builder.take("job", **env._graph_settings()))

    class Plain(Sink[Any]):
        def create_writer(self, task: Any) -> SinkWriter[Any]:
            raise NotImplementedError

    class Committing(Plain):
        def create_committer(self) -> Committer[Any]:
            return Nothing()

    class Nothing(Committer[Any]):
        def commit(self, committables: list[Any]) -> None: ...

    assert shape_of(writing(Plain())) == shape_of(writing(Plain()))
    assert shape_of(writing(Plain())) != shape_of(writing(Committing()))


@pytest.mark.parametrize("damage", ["", "{", '{"run": 1}', "null"])
def test_a_damaged_note_is_refused(tmp_path: Path, damage: str) -> None:
    (tmp_path / "job.json").write_text(damage)
    with pytest.raises(CorruptState, match=r"job\.json is damaged"):
        folder_at(tmp_path)


@pytest.mark.parametrize("how", ["torn", "bit flipped"])
def test_a_note_that_is_not_what_was_written(tmp_path: Path, how: str) -> None:
    folder_at(tmp_path).begin(RunNote("first", 0, shape_of(a_plan())))
    note = tmp_path / "job.json"
    text = note.read_text()
    note.write_text(text[:-20] if how == "torn" else text.replace("first", "fir3t"))
    with pytest.raises(CorruptState, match=r"job\.json is damaged"):
        folder_at(tmp_path)


def test_a_run_that_never_began_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "run-0").mkdir()
    (tmp_path / "run-0/plan.json").touch()
    assert folder_at(tmp_path).note is None


def test_a_lost_note_is_no_empty_start(tmp_path: Path) -> None:
    (tmp_path / "run-0/checkpoint").mkdir(parents=True)
    with pytest.raises(CorruptState, match=r"has lost its job\.json"):
        folder_at(tmp_path)


def test_nothing_resumes_before_the_first_checkpoint(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    assert not folder.resumes
    folder.begin(RunNote("first", 0, {}))
    assert not folder.resumes
    number, _ = begin_attempt(folder.run)
    assert not folder.resumes
    CheckpointFiles(folder.run, number, 1, lambda: True).save(Checkpoint(1, number))
    assert folder.resumes


def test_a_temporary_folder_goes_with_its_job(tmp_path: Path) -> None:
    folder = JobFolder(LocalStore(tmp_path / "job"), lasting=False)
    folder.begin(RunNote("first", 0, {}))
    folder.leave()
    assert not (tmp_path / "job").exists()
    assert not folder.notes.exists()


def opened(folder: JobFolder, shape: PhysicalPlan) -> Start:
    return open_run(None, folder, shape, {"id": "job", "name": "job"})  # type: ignore[arg-type]


def test_whoever_changes_the_shape_takes_the_run_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The elder may still be at work: its state goes on in another run, and it does not."""
    elder = folder_at(tmp_path)
    opened(elder, a_plan())
    run = elder.run
    number, _ = begin_attempt(run, elder.claims(run))
    files = CheckpointFiles(run, number, 1, lambda: elder.is_current(run))
    files.save(Checkpoint(1, number))

    def transfer(spark: Any, run: LocalStore, to: LocalStore) -> Any:
        files.save(Checkpoint(2, number))  # too late
        assert not files.is_current()
        found = last_checkpoint(run)
        assert found is not None
        metadata = SimpleNamespace(operators=[], in_flight=None, batch=found.number)
        return SimpleNamespace(metadata=metadata, check=lambda: None)

    monkeypatch.setattr(opening, "_transferred", transfer)
    monkeypatch.setattr(opening, "require_match", lambda *_: None)
    restored: Any = opened(folder_at(tmp_path), a_plan(parallelism=3)).restored
    assert restored.metadata.batch == 1


def test_a_run_that_is_begun_anew_gives_out_no_number_twice(tmp_path: Path) -> None:
    elder = folder_at(tmp_path)
    opened(elder, a_plan())
    assert begin_attempt(elder.run, elder.claims(elder.run))[0] == 1
    younger = folder_at(tmp_path)
    opened(younger, a_plan(parallelism=3))
    assert begin_attempt(younger.run, younger.claims(younger.run))[0] > 1
    assert not elder.is_current(elder.run)


def test_who_wakes_up_removes_no_transfer_of_a_later_run(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    folder.begin(RunNote("job", 1, {}))
    for name in ("run-0", "run-1", "run-2", "transfer-1", "transfer-2"):
        folder.store.write(f"{name}/file", b"")
    remove_earlier_runs(folder)
    assert sorted(folder.store.names()) == ["job.json", "run-1", "run-2", "transfer-2"]
