"""A worker's collector passes over what stays, and finds what does not all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from headrace.spark import garbage


class Ring:
    """Refers to itself, so only the collector can free it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(garbage, "_tasks", 0)
    gc.collect()
    gc.freeze()  # all that the tests brought along, which would take a second each time
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("new_process")
def test_what_was_there_before_a_task_is_passed_over() -> None:
    kept = [Ring() for _ in range(10_000)]
    before, tracked = gc.get_freeze_count(), len(gc.get_objects())
    garbage.pass_over_what_stays()
    assert gc.get_freeze_count() - before >= tracked * 0.9
    assert len(kept) <= tracked
    assert len(gc.get_objects()) < tracked * 0.1


@pytest.mark.usefixtures("new_process")
def test_garbage_of_a_task_goes_after_it() -> None:
    garbage.pass_over_what_stays()
    ring = Ring()
    alive = weakref.ref(ring)
    del ring
    gc.collect()  # as Spark's worker does after a task
    assert alive() is None


@pytest.mark.usefixtures("new_process")
def test_what_becomes_garbage_later_goes_within_a_full_look() -> None:
    ring = Ring()
    alive = weakref.ref(ring)
    garbage.pass_over_what_stays()
    del ring
    for _ in range(garbage.FULL_LOOK_EVERY):
        gc.collect()
        garbage.pass_over_what_stays()
    gc.collect()
    assert alive() is None


@pytest.mark.usefixtures("new_process")
def test_what_is_let_go_of_goes_after_the_task() -> None:
    kept = Ring()
    alive = weakref.ref(kept)
    garbage.pass_over_what_stays()
    del kept
    gc.collect()
    assert alive() is not None
    garbage.look_at_everything()
    gc.collect()
    assert alive() is None
