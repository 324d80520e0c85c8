"""Pattern cases as streams: what a case says is done with them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from headrace.cep import CEP, PatternProcessFunction, TimedOutPartialMatchHandler
from headrace.datastream import DataStream, OutputTag
from tests.cep.cases import Case, pattern_of

TIMED_OUT = OutputTag("timed-out")
LATE = OutputTag("late")


class Selected:
    """The fields of a match a case selects."""

    def __init__(self, fields: list[list[Any]]):
        self._fields = fields

    def __call__(self, match: dict[str, list[Any]], _: int | None = None) -> Any:
        if all(len(field) == 2 for field in self._fields):
            (name, at), *_more = self._fields
            return match[name][at]
        return tuple(getattr(match[name][at], field) for name, at, field in self._fields)


class Everything(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler):
    """Emits whole matches."""

    def process_match(
        self, match: Any, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        yield dict(match)

    def process_timed_out_match(
        self, match: Any, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        yield TIMED_OUT, (dict(match), ctx.timestamp())


def by_price(one: Any, other: Any) -> int:
    return (one.price > other.price) - (one.price < other.price)


def matching(case: Case, records: DataStream) -> DataStream:
    """The stream of results a case describes."""
    if "key" in case:
        field = case["key"]
        records = records.key_by(lambda event: getattr(event, field))
    pattern = pattern_of(case["pattern"], case["after_match_skip"])
    found = CEP.pattern(records, pattern, by_price if "comparator" in case else None)
    if case.get("time") == "processing":
        found = found.in_processing_time()
    if "select" not in case:
        return found.process(Everything())
    if "timeout_select" in case:
        return found.select(
            Selected(case["select"]), timeout_function=Selected(case["timeout_select"]),
            timeout_tag=TIMED_OUT,
        )  # fmt: skip
    return found.select(Selected(case["select"]))


def delay_of(case: Case) -> int:
    """How far the watermark is behind the latest event."""
    found = re.search(r"ts - (\d+)|out-of-orderness (\d+)", case["watermark"])
    assert found, f"a watermark not known yet: {case['watermark']}"
    return int(found[1] or int(found[2]) + 1)


def as_written(results: Iterable[Any]) -> list[Any]:
    return [tuple(item) if isinstance(item, list) else item for item in results]
