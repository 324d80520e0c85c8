"""headrace gives what PyFlink gave: the core of the recorded comparison, in one process."""

from __future__ import annotations

import pytest

from bench.engines import headrace
from compare.__main__ import run_themes
from compare.verdict import (
    RECORDED,
    differences,
    read_known,
    read_outcomes,
    recorded_themes,
    unexpected,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),  # the first theme waits for all of them
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What headrace gives for the core of every theme."""
    folder = tmp_path_factory.mktemp("outcomes")
    run_themes(headrace(), folder, recorded_themes(), "--core")
    return {theme: read_outcomes(folder / f"{theme}.jsonl") for theme in recorded_themes()}


@pytest.mark.parametrize("theme", recorded_themes())
def test_headrace_gives_what_pyflink_gave(outcomes, theme):
    theirs = read_outcomes(RECORDED / f"{theme}.jsonl")
    assert set(outcomes[theme]) <= set(theirs), "record new cases with `make compare`"
    new = unexpected(differences(theme, theirs, outcomes[theme]), read_known())
    told = [f"{d.place}\n  PyFlink:  {d.theirs}\n  headrace: {d.ours}" for d in new]
    assert not new, "\n".join(told)
