"""Every transcript on the in-process engine, with and without crashes and rescales."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import InvalidArgument
from headrace.testing.transcript_runs import run_in_memory
from headrace.testing.transcripts import load_transcripts
from tests.transcripts import functions

TRANSCRIPTS = load_transcripts(Path(__file__).parent)
each_transcript = pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda t: t.name)


@each_transcript
@pytest.mark.parametrize("crashes", ["none", "logged", "compact"])
def test_in_memory(transcript, crashes):
    """As written, and the same when everything but the state is lost after every step."""
    run_in_memory(transcript, functions, crashes=crashes)


@each_transcript
def test_in_parallel_subtasks(transcript):
    """The same records, however keys are distributed."""
    run_in_memory(transcript, functions, crashes="logged", parallelism=3)


@each_transcript
@pytest.mark.parametrize("rescales", [(2, 5, 1, 3), (5, 3, 2, 1), (1, 4)], ids=str)
def test_rescaled_after_every_step(transcript, rescales):
    """Stopped after every step, and resumed with another number of subtasks."""
    run_in_memory(transcript, functions, parallelism=rescales[0], rescales=rescales)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- {name: t, operator: juggle, steps: []}", "no operator 'juggle'"),
        ("- {name: t, operator: map, stepz: []}", "unknown stepz"),
        ("- {name: t, operator: map, steps: [{expect: [1]}]}", "step 1: a step is one of send"),
        ("- {name: t, operator: map, steps: [{send: [1], except: [1]}]}", "unknown except"),
        ("- {name: t, operator: map, steps: [{finish: true}, {send: [1]}]}", "nothing comes after"),
        (
            "- {name: t, operator: map, steps: []}\n- {name: t, operator: map, steps: []}",
            "one name",
        ),
    ],
)
def test_a_transcript_that_cannot_be_read(tmp_path, text, complaint):
    """A slip of the pen is an error, not a step that checks nothing."""
    (tmp_path / "bad.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=complaint):
        load_transcripts(tmp_path)


def test_a_wrong_transcript_fails(tmp_path):
    """A result that does not come and one that was not expected both fail, and say so."""
    (tmp_path / "wrong.yaml").write_text(
        "- {name: t, operator: map, function: doubled, steps: [{send: [1], expect: [3]}]}",
        encoding="utf-8",
    )
    [transcript] = load_transcripts(tmp_path)
    with pytest.raises(AssertionError) as failure:
        run_in_memory(transcript, functions)
    assert "t, step 1 (send): output" in str(failure.value)
    assert "- 3" in str(failure.value)
    assert "+ 2" in str(failure.value)
