"""Records on their way to the program."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.datastream import collecting
from headrace.datastream.collecting import Changed, CloseableIterator
from headrace.errors import JobFailed


class Client:
    """A job that has come to its end."""

    def __init__(self, error: Exception | None = None):
        self._error = error

    def get_job_execution_result(self) -> Any:
        return self

    def add_done_callback(self, call: Any) -> None:
        call(self)

    def exception(self) -> Exception | None:
        return self._error


def test_who_takes_nothing_is_full_until_half_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "_MOST", 10)
    records = CloseableIterator()
    twice = Changed(records, lambda value: 2 * value)
    for number in range(10):
        twice.put([number])
    assert not twice.is_full
    twice.put([10])
    assert twice.is_full
    for number in range(5):
        assert next(records) == 2 * number
        assert twice.is_full
    next(records)
    assert not twice.is_full


def test_waiting_for_the_first() -> None:
    records = CloseableIterator()
    records.put([])
    with pytest.raises(TimeoutError):
        records.wait(0)
    records.put([1])
    records.wait(0)
    assert next(records) == 1


def test_waiting_for_the_first_of_none() -> None:
    records = CloseableIterator()
    records.follow(Client())  # type: ignore[arg-type]
    records.wait()
    assert list(records) == []
    failed = CloseableIterator()
    failed.follow(Client(JobFailed("on purpose")))  # type: ignore[arg-type]
    with pytest.raises(JobFailed, match="on purpose"):
        failed.wait()
