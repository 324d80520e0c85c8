"""The transcripts as one streaming job on Spark: what the harness says is what Spark does."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import assert_same_records
from headrace.testing.transcript_runs import transcripts_job
from headrace.testing.transcripts import load_transcripts
from tests.spark.conftest import visible
from tests.spark.savepoint_jobs import settings, to_files
from tests.spark.stopped_jobs import run_with_stops
from tests.transcripts import functions

FOLDER = Path(__file__).resolve().parents[1] / "transcripts"
TRANSCRIPTS = [transcript for transcript in load_transcripts(FOLDER) if transcript.runs_on_spark]

Results = dict[tuple[int, str | None], list[Any]]


@pytest.fixture(scope="module")
def results() -> Results:
    """What the job gave, by transcript and side output; each step was a micro-batch."""
    found: Results = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        for number, tag, record in transcripts_job(
            env, TRANSCRIPTS, functions
        ).execute_and_collect():
            found.setdefault((number, tag), []).append(record)
    return found


@pytest.fixture(scope="module")
def resumed_results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The same, of a job that was stopped three times and resumed at another parallelism."""
    folder = tmp_path_factory.mktemp("resumed")
    env = StreamExecutionEnvironment.get_execution_environment(settings(folder / "checkpoints"))
    told = transcripts_job(env, TRANSCRIPTS, functions)
    to_files(told.map(lambda result: pickle.dumps(result).hex(), Types.STRING()), folder / "out")
    run_with_stops(env, env.builder.peek("transcripts", **env._graph_settings()))
    found: Results = {}
    for file in visible(folder / "out"):
        for line in file.read_text(encoding="utf-8").splitlines():
            number, tag, record = pickle.loads(bytes.fromhex(line))
            found.setdefault((number, tag), []).append(record)
    return found


each_transcript = pytest.mark.parametrize(
    "number", range(len(TRANSCRIPTS)), ids=lambda n: TRANSCRIPTS[n].name
)


@each_transcript
def test_on_spark(results, number):
    """The same records and side outputs in all, in whatever order."""
    check(results, number)


@each_transcript
def test_resumed_at_another_parallelism(resumed_results, number):
    check(resumed_results, number)


def check(results: Results, number: int) -> None:
    for tag, expected in TRANSCRIPTS[number].results().items():
        what = "output" if tag is None else f"side output {tag!r}"
        assert_same_records(results.get((number, tag), []), expected, what)
