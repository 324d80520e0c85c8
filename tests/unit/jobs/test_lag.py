"""How far sources are behind, by what they have handed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.connectors.number_sequence import NumberSequenceSource
from headrace.core.source import SocketTextSpec, SplitSpec
from headrace.jobs.lag import SourceLag, flowing_lags, source_lags
from headrace.runtime.flow.admission import Admission
from headrace.runtime.flow.gate import SourceReach
from headrace.runtime.flow.splits import SplitReach, Splits

NOTHING = SourceReach()
COUNTED = [3]
"""The source of numbers can be told how many to hand over, the socket cannot."""


@pytest.fixture
def plan() -> Any:
    numbers = SplitSpec(NumberSequenceSource(0, 9))
    return SimpleNamespace(sources=[
        SimpleNamespace(id=3, uid="numbers", name="Source: numbers", source=numbers),
        SimpleNamespace(id=5, uid="lines", name="Source: lines", source=SocketTextSpec("h", 1)),
    ])  # fmt: skip


def test_before_anything_was_read(plan: Any) -> None:
    lags = source_lags(plan, Admission(COUNTED, 1.0), {3: NOTHING, 5: NOTHING})
    assert lags["numbers"] == SourceLag("Source: numbers", {}, None, 10_000, None)
    assert lags["lines"] == SourceLag("Source: lines", {}, None, None, None)


def test_what_sources_handed_over(plan: Any) -> None:
    admission = Admission(COUNTED, 1.0, 500)
    splits = {"a": SplitReach(10, 30, 20), "b": SplitReach(7, 7, 0)}
    reaches = {3: SourceReach(17, splits), 5: SourceReach(4)}
    admission.batch_ended(2.5, reaches)
    lags = source_lags(plan, admission, reaches)
    lag = lags["numbers"]
    assert lag.splits == splits
    assert (lag.records_behind, lag.limit, lag.last_batch_ms) == (20, 500, 2500)
    assert str(lag) == (
        "Source: numbers: 20 records behind, at most 500 in a micro-batch, "
        "the last one took 2500 ms"
    )
    assert lags["lines"].records_behind is None  # a socket does not say what is still to come


def test_what_cannot_be_counted(plan: Any) -> None:
    admission = Admission(COUNTED, None)
    reaches = {3: SourceReach(1, {"a": SplitReach("x", "y", None)}), 5: NOTHING}
    admission.batch_ended(1.0, reaches)
    lag = source_lags(plan, admission, reaches)["numbers"]
    assert (lag.records_behind, lag.limit) == (None, None)
    assert str(lag).startswith("Source: numbers: an unknown number of records behind")


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
