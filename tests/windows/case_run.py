"""Driving a window operator through the steps of a case, in process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.testing import OperatorHarness, assert_same_records
from tests.windows.cases import Case, expectation
from tests.windows.conformance import windowing
from tests.windows.scripted_jobs import LATE, PANE, labelled, of_kind


class CaseRun:
    """Drives a window operator through the steps of a case."""

    def __init__(self, case: Case, parallelism: int = 1):
        def build(records: Any) -> Any:
            return labelled(windowing(case["config"], records))

        self.harness = OperatorHarness(build, parallelism=parallelism)
        self._results: list[Any] = []
        self._snapshot = b""

    def do(self, step: Case, where: str) -> None:
        """Do one step; where it expects something, fail if it is not so."""
        harness = self.harness
        match step:
            case {"element": element, "ts": time}:
                harness.send(tuple(element), time)
            case {"watermark": time}:
                harness.advance_watermark(time)
            case {"processing_time": time}:
                harness.advance_processing_time(time)
            case {"snapshot": True}:
                self._snapshot = harness.snapshot()
            case {"restore": True}:
                harness.restore(self._snapshot)
            case {"expect": expected}:
                self._check(PANE, expected, where)
            case {"expect_late": expected}:
                self._check(LATE.tag_id, expected, where)
            case _:
                raise AssertionError(f"{where}: a step of a kind not known yet: {step}")

    def finish(self) -> list[tuple[Any, int]]:
        """End the input; the results nobody has expected yet."""
        self.harness.finish()
        return self._taken(PANE)

    def _check(self, kind: str, expected: Iterable[Any], where: str) -> None:
        assert_same_records(self._taken(kind), expectation(expected), f"{where}: {kind}")

    def _taken(self, kind: str) -> list[tuple[Any, int]]:
        results = self._results + self.harness.take_outputs()
        self._results = [result for result in results if result[1] != kind]
        return [(value, time) for _, value, time in of_kind(results, kind)]
