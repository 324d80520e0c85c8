"""A job that is started once more while an earlier start of it is asleep."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.jobs.stream_job import StreamJob
from headrace.runtime.flow.master import Superseded


def test_a_start_that_no_longer_counts_recovers_nothing() -> None:
    """What others have prepared meanwhile is theirs: to roll it back would lose it."""
    done: list[Any] = []
    place = SimpleNamespace(uri="file:/job/run-1")
    job: Any = StreamJob.__new__(StreamJob)
    job._folder = SimpleNamespace(run=place)
    job._results = SimpleNamespace(commits=SimpleNamespace(recover=done.append))
    job._attempt = SimpleNamespace(store=place, files=SimpleNamespace(is_current=lambda: False))
    with pytest.raises(Superseded, match="started once more meanwhile"):
        job._new_attempt()
    assert done == []
