"""How far sources are behind, from what they noted."""

from __future__ import annotations

from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.connectors.number_sequence import NumberSequenceSource
from headrace.core.source import SocketTextSpec, SplitSpec
from headrace.jobs.lag import SourceLag, flowing_lags, source_lags
from headrace.runtime.flow.splits import SplitReach, Splits
from headrace.spark.admission import Admission
from headrace.spark.admission_notes import SourceReach


@pytest.fixture
def plan() -> Any:
    numbers = SplitSpec(NumberSequenceSource(0, 9))
    return SimpleNamespace(sources=[
        SimpleNamespace(id=3, uid="numbers", name="Source: numbers", source=numbers),
        SimpleNamespace(id=5, uid="lines", name="Source: lines", source=SocketTextSpec("h", 1)),
    ])  # fmt: skip


def test_before_anything_was_read(plan: Any, tmp_path: Path) -> None:
    lags = source_lags(plan, Admission(plan, tmp_path, 1.0))
    assert lags["numbers"] == SourceLag("Source: numbers", {}, None, 10_000, None)
    assert lags["lines"] == SourceLag("Source: lines", {}, None, None, None)


def test_what_sources_noted(plan: Any, tmp_path: Path) -> None:
    now = 100.0
    admission = Admission(plan, tmp_path, 1.0, max_records=500, clock=lambda: now)
    splits = {"a": SplitReach(10, 30, 20), "b": SplitReach(7, 7, 0)}
    admission.notes.write_reach(3, SourceReach(101.0, 17, splits))
    now = 103.5
    admission.batch_ended()
    lag = source_lags(plan, admission)["numbers"]
    assert lag.splits == {"a": SplitReach(10, 30, 20), "b": SplitReach(7, 7, 0)}
    assert (lag.records_behind, lag.limit, lag.last_batch_ms) == (20, 500, 2500)
    assert str(lag) == (
        "Source: numbers: 20 records behind, at most 500 in a micro-batch, "
        "the last one took 2500 ms"
    )


def test_what_cannot_be_counted(plan: Any, tmp_path: Path) -> None:
    admission = Admission(plan, tmp_path, None)
    admission.notes.write_reach(3, SourceReach(1e12, 0, {"a": SplitReach("x", "y", None)}))
    lag = source_lags(plan, admission)["numbers"]
    assert (lag.records_behind, lag.limit) == (None, None)
    assert str(lag) == "Source: numbers: an unknown number of records behind"


def test_what_was_known_stays_known_when_the_notes_are_gone(plan: Any, tmp_path: Path) -> None:
    """A job's notes are cleared away a moment before its end is told."""
    admission = Admission(plan, tmp_path / "notes", 1.0)
    admission.notes.write_reach(3, SourceReach(1e12, 17, {"a": SplitReach(30, 30, 0)}))
    admission.batch_ended()
    before = source_lags(plan, admission)["numbers"]
    rmtree(tmp_path / "notes")
    assert source_lags(plan, admission)["numbers"] == before
    assert before.records_behind == 0


def test_what_tasks_say_in_real_time(plan: Any) -> None:
    reach = {(3, 0): {"a": SplitReach(10, 30, 20)}, (3, 1): {"b": SplitReach(7, 7, 0)},
             (5, 0): {"socket": SplitReach(None)}}  # fmt: skip
    lags = flowing_lags(plan, reach)
    splits = {"a": SplitReach(10, 30, 20), "b": SplitReach(7, 7, 0)}
    assert lags["numbers"] == SourceLag("Source: numbers", splits, 20, None, None)
    assert lags["lines"].records_behind is None
    assert flowing_lags(plan, {})["numbers"].records_behind is None


def test_how_far_a_task_has_read() -> None:
    source = NumberSequenceSource(0, 9)
    splits, enumerator = Splits(source), source.create_enumerator()
    list(splits.assign(tuple((split, enumerator.initial_position(split))
                             for split in enumerator.splits())))  # fmt: skip
    assert sum(each.behind or 0 for each in splits.reach().values()) == 10
    while splits.read() is not None:
        pass
    assert sum(each.behind or 0 for each in splits.reach().values()) == 0
