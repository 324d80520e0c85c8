"""The transcripts as one streaming job on Spark: what the harness says is what Spark does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import assert_same_records
from headrace.testing.transcript_runs import transcripts_job
from headrace.testing.transcripts import load_transcripts
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


@pytest.mark.parametrize("number", range(len(TRANSCRIPTS)), ids=lambda n: TRANSCRIPTS[n].name)
def test_on_spark(results, number):
    """The same records and side outputs in all, in whatever order."""
    for tag, expected in TRANSCRIPTS[number].results().items():
        what = "output" if tag is None else f"side output {tag!r}"
        assert_same_records(results.get((number, tag), []), expected, what)
