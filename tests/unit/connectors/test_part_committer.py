"""Parts that outlive micro-batches: when they are finished, and what a crash does to them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Encoder
from headrace.connectors.part_committer import PartFileCommitter
from headrace.core.operator import TaskInfo
from headrace.datastream.connectors import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    RollingPolicy,
)

TASK = TaskInfo("Sink", "sink-1", output_id="job-1")
MINUTE = 60_000


def sink_to(folder: Path, policy: RollingPolicy | None = None, compact=None) -> FileSink:
    builder = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    if policy is not None:
        builder.with_rolling_policy(policy)
    if compact is not None:
        builder.enable_compact(*compact)
    return builder.build()


def prepare(sink: FileSink, batch: int, values: list, partition: int = 0) -> list:
    writer = sink.create_writer(replace(TASK, batch_id=batch, partition=partition))
    for value in values:
        writer.write(value, None)
    prepared = writer.prepare_commit()
    writer.close()
    return prepared


def opened(sink: FileSink, task: TaskInfo = TASK) -> PartFileCommitter:
    committer = sink.create_committer()
    committer.open(task)
    return committer


def visible(folder: Path) -> list[str]:
    """The contents of finished files, which have none but whole lines."""
    texts = [path.read_text() for path in sorted(folder.rglob("[!.]*")) if path.is_file()]
    assert all(text.endswith("\n") for text in texts)
    return sorted(text.replace("\n", " ").strip() for text in texts)


def hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob(".*"))


class TestRolling:
    def test_a_part_gathers_micro_batches_until_it_is_large(self, tmp_path):
        sink = sink_to(tmp_path, RollingPolicy.default_rolling_policy(part_size=7))
        committer = opened(sink)
        seen = []
        for batch in range(6):
            committer.commit(prepare(sink, batch, [f"n{batch}"]))
            seen.append(visible(tmp_path))
        assert seen[:3] == [[], [], ["n0 n1 n2"]]
        assert seen[5] == ["n0 n1 n2", "n3 n4 n5"]
        assert hidden(tmp_path) == []

    def test_each_subtask_has_its_own_part(self, tmp_path):
        sink = sink_to(tmp_path)
        committer = opened(sink)
        for batch in range(2):
            for partition in range(2):
                committer.commit(prepare(sink, batch, [f"{partition}{batch}"], partition))
        committer.tick(0, final=True)
        assert visible(tmp_path) == ["00 01", "10 11"]

    def test_a_part_is_finished_when_it_is_old(self, tmp_path):
        sink = sink_to(tmp_path, RollingPolicy.default_rolling_policy(1000, 5 * MINUTE, MINUTE * 9))
        committer = opened(sink)
        start = self.commit_at(committer, sink, 0, 0)
        committer.tick(start, final=False)
        self.commit_at(committer, sink, 1, start + 4 * MINUTE)
        committer.tick(start + 5 * MINUTE - 1, final=False)
        assert visible(tmp_path) == []
        committer.tick(start + 6 * MINUTE, final=False)
        assert visible(tmp_path) == ["0 1"]

    def test_a_part_is_finished_when_nothing_comes(self, tmp_path):
        sink = sink_to(tmp_path, RollingPolicy.default_rolling_policy(1000, 60 * MINUTE, MINUTE))
        committer = opened(sink)
        start = self.commit_at(committer, sink, 0, 0)
        committer.tick(start, final=False)
        committer.tick(start + MINUTE - 1, final=False)
        assert visible(tmp_path) == []
        committer.tick(start + MINUTE, final=False)
        assert visible(tmp_path) == ["0"]

    def test_the_time_is_looked_at_in_intervals(self, tmp_path):
        policy = RollingPolicy.default_rolling_policy(1000, MINUTE, MINUTE)
        sink = sink_to(tmp_path, policy)
        sink.check_interval_ms = 10 * MINUTE
        committer = opened(sink)
        start = self.commit_at(committer, sink, 0, 0)
        committer.tick(start, final=False)
        committer.tick(start + 9 * MINUTE, final=False)
        assert visible(tmp_path) == []
        committer.tick(start + 10 * MINUTE, final=False)
        assert visible(tmp_path) == ["0"]

    def commit_at(self, committer: PartFileCommitter, sink: FileSink, batch: int, at: int) -> int:
        """Commit one record that was written at a time; returns the time."""
        prepared = prepare(sink, batch, [str(batch)])
        at = at or Path(prepared[0][0]).stat().st_mtime_ns // 1_000_000
        os.utime(prepared[0][0], ns=(at * 1_000_000, at * 1_000_000))
        committer.commit(prepared)
        return at

    def test_a_resumed_job_goes_on_with_its_part(self, tmp_path):
        sink = sink_to(tmp_path)
        opened(sink).commit(prepare(sink, 0, ["a"]))
        committer = opened(sink_to(tmp_path))
        committer.commit(prepare(sink, 1, ["b"]))
        committer.tick(0, final=True)
        assert visible(tmp_path) == ["a b"]

    def test_a_job_resumed_with_another_parallelism_does_too(self, tmp_path):
        """Its micro-batches are counted anew, its subtasks are others, its lineage is the same."""
        sink = sink_to(tmp_path)
        before = replace(TASK, lineage="job-1")
        writer = sink.create_writer(replace(before, batch_id=57, partition=4))
        writer.write("a", None)
        opened(sink, before).commit(writer.prepare_commit())
        after = opened(sink_to(tmp_path), replace(before, output_id="job-1-1"))
        after.tick(0, final=True)
        assert visible(tmp_path) == ["a"]

    def test_another_policy_finishes_what_is_left(self, tmp_path):
        sink = sink_to(tmp_path)
        opened(sink).commit(prepare(sink, 0, ["a"]))
        every_batch = sink_to(tmp_path, RollingPolicy.on_checkpoint_rolling_policy())
        opened(every_batch).commit(prepare(every_batch, 1, ["b"]))
        assert visible(tmp_path) == ["a", "b"]

    def test_jobs_and_sinks_let_each_other_alone(self, tmp_path):
        sink = sink_to(tmp_path)
        opened(sink).commit(prepare(sink, 0, ["a"]))
        prepare(sink, 1, ["unfinished"])
        for task in (replace(TASK, output_id="job-2"), replace(TASK, uid="sink-2")):
            other = opened(sink, task)
            other.commit([])
            other.tick(0, final=True)
        assert visible(tmp_path) == []
        assert len(hidden(tmp_path)) == 2

    def test_what_killed_workers_left_is_removed_once_it_is_certain(self, tmp_path):
        sink = sink_to(tmp_path)
        prepare(sink, 3, ["killed"])
        running = prepare(sink, 4, ["running"])
        committer = opened(sink)
        committer.commit(prepare(sink, 3, ["again"]))
        committer.tick(0, final=True)
        assert visible(tmp_path) == ["again"]
        assert hidden(tmp_path) == [Path(running[0][0]).name]
        committer.abort(running)
        prepare(sink, 4, ["killed"])
        committer.commit(prepare(sink, 4, ["done"]))
        committer.tick(0, final=True)
        assert hidden(tmp_path) == []

    def test_a_folder_that_readers_removed(self, tmp_path):
        sink = sink_to(tmp_path / "bucket", RollingPolicy.on_checkpoint_rolling_policy())
        prepared = prepare(sink, 0, ["a"])
        committer = opened(sink)
        committer.commit(prepared)
        shutil.rmtree(tmp_path / "bucket")
        committer.tick(0, final=True)
        opened(sink).recover(prepared)
        assert not (tmp_path / "bucket").exists()

    def test_after_a_recovery_nothing_is_certain(self, tmp_path):
        """A job that starts anew from a savepoint counts its micro-batches from 0 again."""
        sink = sink_to(tmp_path)
        committer = opened(sink)
        committer.recover(prepare(sink, 57, ["old"]))
        running = prepare(sink, 0, ["running"])
        committer.tick(0, final=True)
        assert hidden(tmp_path) == [Path(running[0][0]).name]

    def test_what_killed_workers_left_goes_before_the_next_attempt(self, tmp_path):
        sink = sink_to(tmp_path)
        prepare(sink, 3, ["killed"])
        committer = opened(sink)
        committer.recover(prepare(sink, 2, ["checkpointed"]))
        committer.recovered()
        assert [name for name in hidden(tmp_path) if name.endswith(".inprogress")] == []
        committer.tick(0, final=True)
        assert hidden(tmp_path) == []


class TestCompaction:
    def committed(self, folder: Path, strategy: FileCompactStrategy, *values: str, **kind) -> list:
        compactor = kind.get("compactor") or FileCompactor.concat_file_compactor()
        policy = RollingPolicy.on_checkpoint_rolling_policy()
        sink = sink_to(folder, policy, (strategy, compactor))
        committer = opened(sink)
        seen = []
        for batch, value in enumerate(values):
            committer.commit(
                [*prepare(sink, batch, [value]), *prepare(sink, batch, [value.upper()], 1)]
            )
            seen.append(visible(folder))
        committer.tick(0, final=True)
        seen.append(visible(folder))
        assert hidden(folder) == []
        return seen

    def test_by_size(self, tmp_path):
        strategy = FileCompactStrategy.builder().set_size_threshold(8).build()
        seen = self.committed(tmp_path, strategy, "a", "b", "c")
        assert seen == [[], ["a A b B"], ["a A b B"], ["a A b B", "c C"]]

    @pytest.mark.parametrize("threads", [1, 3])
    def test_by_the_number_of_micro_batches(self, tmp_path, threads):
        strategy = (
            FileCompactStrategy.builder()
            .enable_compaction_on_checkpoint(2)
            .set_num_compact_threads(threads)
            .build()
        )
        seen = self.committed(tmp_path, strategy, "a", "b", "c")
        assert seen == [[], ["a A b B"], ["a A b B"], ["a A b B", "c C"]]

    def test_each_file_as_it_is(self, tmp_path):
        strategy = FileCompactStrategy.builder().set_size_threshold(8).build()
        compactor = FileCompactor.identical_file_compactor()
        seen = self.committed(tmp_path, strategy, "a", compactor=compactor)
        assert seen == [["A", "a"]] * 2

    def test_a_delimiter(self, tmp_path):
        strategy = FileCompactStrategy.builder().set_size_threshold(1).build()
        compactor = FileCompactor.concat_file_compactor(b"--\n")
        assert self.committed(tmp_path, strategy, "a", compactor=compactor)[-1] == ["A", "a"]
        strategy = FileCompactStrategy.builder().set_size_threshold(4).build()
        seen = self.committed(tmp_path / "more", strategy, "a", compactor=compactor)
        assert seen[-1] == ["a -- A"]

    def test_in_a_way_of_ones_own(self, tmp_path):
        class Sorting(FileCompactor):
            def compact(self, inputs, out):
                lines = [line for path in inputs for line in path.read_bytes().splitlines()]
                out.write(b"\n".join(sorted(lines)) + b"\n")

        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
        seen = self.committed(tmp_path, strategy, "c", "b", "a", compactor=Sorting())
        assert seen[-1] == ["A B C a b c"]

    def test_several_buckets_at_a_time(self, tmp_path):
        class ByLetter(BucketAssigner):
            def bucket_id(self, element, timestamp):
                return element[0]

        strategy = FileCompactStrategy.builder().set_size_threshold(1000)
        strategy = strategy.set_num_compact_threads(2).build()
        sink = sink_to(tmp_path, compact=(strategy, FileCompactor.concat_file_compactor()))
        sink.assigner = ByLetter()
        committer = opened(sink)
        for batch in range(2):
            committer.commit(prepare(sink, batch, [f"a{batch}", f"b{batch}", f"c{batch}"]))
        committer.tick(0, final=True)
        assert visible(tmp_path) == ["a0 a1", "b0 b1", "c0 c1"]


class TestCrashes:
    def three_segments(self, folder: Path) -> FileSink:
        sink = sink_to(folder)
        committer = opened(sink)
        for batch in range(3):
            committer.commit(prepare(sink, batch, [f"n{batch}"]))
        return sink

    @pytest.mark.parametrize("reader", ["stays away", "takes what it finds"])
    def test_between_any_two_steps_of_a_merge(self, tmp_path, reader):
        for stop in count():
            folder = tmp_path / str(stop)
            sink = self.three_segments(folder)
            committer = opened(sink)
            taken = len(list(islice(committer.final_steps(), stop)))
            found = visible(folder)
            assert found in ([], ["n0 n1 n2"])
            if reader == "takes what it finds":
                for path in folder.glob("[!.]*"):
                    path.unlink()
            else:
                found = []
            resumed = opened(sink_to(folder))
            resumed.tick(0, final=True)
            assert found + visible(folder) == ["n0 n1 n2"]
            assert hidden(folder) == []
            if taken < stop:
                break
        assert stop > 6

    def test_between_any_two_steps_of_a_resumed_merge(self, tmp_path):
        for first in range(3, 8):
            for stop in range(6):
                folder = tmp_path / f"{first}-{stop}"
                list(islice(opened(self.three_segments(folder)).final_steps(), first))
                committer = sink_to(folder).create_committer()
                committer._owner = opened(sink_to(tmp_path / "none"))._owner
                list(islice(committer.load_steps(), stop))
                opened(sink_to(folder)).tick(0, final=True)
                assert visible(folder) == ["n0 n1 n2"]
                assert hidden(folder) == []

    def test_while_the_list_of_segments_is_written(self, tmp_path, monkeypatch):
        sink = self.three_segments(tmp_path)

        def fail(fd: int) -> None:
            raise OSError("disk full")

        committer = opened(sink)
        steps = committer.final_steps()
        assert list(islice(steps, 2)) == ["began to write", "written"]
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="disk full"):
            next(steps)
        monkeypatch.undo()
        assert any(name.endswith(".merged.unfinished") for name in hidden(tmp_path))
        committer = opened(sink)
        assert len(hidden(tmp_path)) == 3
        committer.tick(0, final=True)
        assert visible(tmp_path) == ["n0 n1 n2"]

    def test_a_committer_goes_on_after_a_failure(self, tmp_path, monkeypatch):
        sink = self.three_segments(tmp_path)
        committer = opened(sink)
        with monkeypatch.context() as patch:
            patch.setattr(json, "dumps", None)
            with pytest.raises(TypeError):
                committer.tick(0, final=True)
        committer.tick(0, final=True)
        assert visible(tmp_path) == ["n0 n1 n2"]
        assert hidden(tmp_path) == []


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    batches=st.lists(
        st.tuples(
            st.lists(st.integers(0, 3), min_size=1, max_size=4),  # records per subtask
            st.integers(0, 12),  # steps until a crash in the commit; more than all: none
            st.sampled_from(["nothing", "tick", "crash before journal", "abort and run again"]),
        ),
        min_size=1, max_size=6,
    ),
    part_size=st.integers(1, 12),
    way=st.sampled_from(["rolling", "every batch", "compaction"]),
    takes_away=st.booleans(),
)  # fmt: skip
def test_every_record_is_there_once_whatever_happens(batches, part_size, way, takes_away):
    with tempfile.TemporaryDirectory() as name:
        _run_and_check(Path(name), batches, part_size, way, takes_away)


def _sink(folder: Path, part_size: int, way: str) -> FileSink:
    if way == "rolling":
        return sink_to(folder, RollingPolicy.default_rolling_policy(part_size=part_size))
    every_batch = RollingPolicy.on_checkpoint_rolling_policy()
    if way == "every batch":
        return sink_to(folder, every_batch)
    strategy = FileCompactStrategy.builder().set_size_threshold(part_size).build()
    return sink_to(folder, every_batch, (strategy, FileCompactor.concat_file_compactor()))


class _Reader:
    """Reads finished files; takes them away, or comes again for all of them."""

    def __init__(self, folder: Path, takes_away: bool):
        self.folder, self.takes_away = folder, takes_away
        self.found: list[str] = []

    def read(self) -> list[str]:
        if not self.takes_away:
            self.found.clear()
        for path in self.folder.glob("[!.]*") if self.folder.exists() else ():
            text = path.read_text()
            assert text.endswith("\n")
            self.found.extend(text.split())
            if self.takes_away:
                path.unlink()
        return self.found


def _prepare_all(sink: FileSink, batch: int, records: list[list[str]]) -> list:
    return [pair for subtask, values in enumerate(records)
            for pair in prepare(sink, batch, values, subtask)]  # fmt: skip


def _run_and_check(folder, batches, part_size, way, takes_away):
    reader = _Reader(folder / "out", takes_away)
    sink = _sink(reader.folder, part_size, way)
    committer, expected, numbers = opened(sink), [], count()
    for batch, (sizes, stop, event) in enumerate(batches):
        records = [[str(next(numbers)) for _ in range(size)] for size in sizes]
        if event in ("crash before journal", "abort and run again"):
            lost = _prepare_all(sink, batch, records)
            if event == "abort and run again":
                committer = opened(sink)
                committer.abort(lost)
        prepared = _prepare_all(sink, batch, records)
        expected.extend(value for values in records for value in values)
        if stop < 12:
            list(islice(committer.commit_steps(prepared), stop))
            reader.read()
            committer = opened(sink)
            committer.recover(prepared)
        else:
            committer.commit(prepared)
        if event == "tick":
            committer.tick(2**62, final=False)
            committer.tick(2**62 + 10 * MINUTE, final=False)
        found = reader.read()
        assert set(found) <= set(expected)
        assert len(set(found)) == len(found)
    committer.tick(0, final=True)
    assert sorted(reader.read()) == sorted(expected)
    assert all(name.endswith(".inprogress") for name in hidden(reader.folder))
