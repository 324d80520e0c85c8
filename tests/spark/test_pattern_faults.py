"""Jobs with patterns that are killed, saved and resumed find exactly what others find."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.datastream import StreamExecutionEnvironment
from headrace.jobs.client import JobClient
from headrace.state import read_savepoint
from tests.spark.conftest import wait_until
from tests.spark.kill_jobs import STEP
from tests.spark.pattern_jobs import KEYS, build, expected, process, run
from tests.spark.savepoint_jobs import Tap, settings

LinesOf = Callable[[Path], Counter[str]]
BATCHES = 8
KILLED_AT = "state-files.after@5"
"""It goes on from the checkpoint before: matches that were complete, and some that have taken two
events of three. The other steps are the matter of test_kill_matrix.py."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed(tmp_path: Path, lines_of: LinesOf) -> None:
    """SIGKILL of all its processes in the middle of matches."""
    want = expected(2 * STEP * BATCHES)
    assert all(lines.total() == 9 for lines in want.values())
    mark = tmp_path / "died"
    ended = process(tmp_path, BATCHES, HEADRACE_CRASH_AT=KILLED_AT, HEADRACE_CRASH_MARK=str(mark))
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-3000:]
    assert (tmp_path / f"died.{KILLED_AT}").exists()
    for name, lines in want.items():
        found = lines_of(tmp_path / "out" / name)
        assert not found - lines, (name, found - lines)
        assert 0 < found.total() < lines.total()
    run(tmp_path, BATCHES)
    assert {name: lines_of(tmp_path / "out" / name) for name in want} == want


def start(folder: Path, parallelism: int, run: str, **more: str) -> JobClient:
    env = StreamExecutionEnvironment.get_execution_environment(settings(folder / run, **more))
    env.set_parallelism(parallelism)
    env.enable_checkpointing(50)
    build(env, Tap(folder / "valve", 1), folder / "out")
    return env.execute_async("patterns")


def check_events(saved: str) -> None:
    """Each key has taken places 20 and 24, and waits for the third event."""
    with read_savepoint(saved) as reader:
        rows = reader.state("pattern", "partial-matches").collect()
        assert len(rows) == KEYS
        for row in rows:
            _, events, links, runs, complete = row.value
            number = int(row.key.removeprefix("key-"))
            assert [tuple(event) for _, _, event in events] == [
                (row.key, 20 * KEYS + number), (row.key, 24 * KEYS + number),
            ]  # fmt: skip
            assert [stage for _, stage, _ in links] == ["first", "second"]
            assert [state for state, *_ in runs] == ["third"]
            assert not complete


def check_rows(saved: str) -> None:
    """Each partition has taken a row for A and those after it for B."""
    with read_savepoint(saved) as reader:
        (uid,) = (each.uid for each in reader.operators() if each.name == "Match")
        rows = reader.state(uid, "partial-matches").collect()
        assert len(rows) == KEYS
        for row in rows:
            _, events, links, runs, _ = row.value
            places = [event[2] for _, _, event in events]
            assert places[:5] == [20, 21, 22, 23, 24]
            assert [stage for _, stage, _ in links] == ["A", *["B"] * (len(places) - 1)]
            assert len(runs) == 1


def check_shown(saved: str) -> None:
    asked = ["state", "show", saved, "pattern/partial-matches", "--key", "key-1", "-f", "json"]
    shown = CliRunner().invoke(app, asked)
    assert shown.exit_code == 0, shown.output
    assert '"third"' in shown.output
    assert '"key-1"' in shown.output


def test_saved_in_the_middle_of_matches_and_resumed(tmp_path: Path, lines_of: LinesOf) -> None:
    """What had begun is readable in the savepoint, and is completed at another parallelism."""
    saved = ""
    for parallelism, places in ((2, 26), (3, 36), (1, 49)):
        (tmp_path / "valve").write_text(str(places * KEYS))
        more = {"execution_state__recovery_path": saved} if saved else {}
        job = start(tmp_path, parallelism, f"run-{parallelism}", **more)
        want = expected((places - 1) * KEYS)  # the last event of a key waits for the watermark
        wait_until(partial(_are_there, tmp_path / "out", want, lines_of))
        saved = job.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(120)
        job.get_job_execution_result().result(120)
        if parallelism == 2:
            check_events(saved)
            check_rows(saved)
            check_shown(saved)
    assert _are_there(tmp_path / "out", want, lines_of)


def _are_there(out: Path, want: dict[str, Counter[str]], lines_of: LinesOf) -> bool:
    return {name: lines_of(out / name) for name in want} == want
