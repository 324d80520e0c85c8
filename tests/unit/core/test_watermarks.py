"""Watermark strategies hold what they were told, and refuse what makes no sense."""

from typing import Any

import pytest

from headrace.core.time import Duration
from headrace.core.watermarks import (
    AssignerWithPeriodicWatermarksWrapper,
    TimestampAssigner,
    WatermarkStrategy,
)
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported


class FirstField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


def test_kinds() -> None:
    assert WatermarkStrategy.no_watermarks().kind == "none"
    assert WatermarkStrategy.for_monotonous_timestamps().kind == "monotonous"
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    assert (bounded.kind, bounded.out_of_orderness_ms) == ("bounded", 20_000)


def test_parts_add_up_and_the_strategy_before_stays() -> None:
    plain, assigner = WatermarkStrategy.for_monotonous_timestamps(), FirstField()
    assert plain.with_timestamp_assigner(assigner).assigner is assigner
    assert plain == WatermarkStrategy.for_monotonous_timestamps()


def test_idleness_and_alignment_are_kept() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_minutes(1))
    aligned = strategy.with_watermark_alignment("group", Duration.of_seconds(2))
    assert aligned.idle_after_ms == 60_000
    assert aligned.alignment is not None
    assert (aligned.alignment.group, aligned.alignment.max_drift_ms) == ("group", 2000)
    with pytest.raises(InvalidArgument, match="idle timeout must be above 0"):
        strategy.with_idleness(Duration.of_millis(0))
    with pytest.raises(TypeMismatch, match="a watermark group is a name"):
        strategy.with_watermark_alignment(None, Duration.of_seconds(2))  # type: ignore[arg-type]


def test_a_generator_is_given_as_something_that_makes_one() -> None:
    with pytest.raises(TypeMismatch, match="Pass its class"):
        WatermarkStrategy.for_generator(3)  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with pytest.raises(InvalidArgument, match="out-of-orderness cannot be negative, but is -5 ms"):
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-5))
    with pytest.raises(TypeMismatch, match="5, which is not a Duration"):
        WatermarkStrategy.for_bounded_out_of_orderness(5)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match=r"it has no extract_timestamp\(\)"):
        strategy.with_timestamp_assigner(lambda value: value)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match=r"Pass an instance: FirstField\(\)"):
        strategy.with_timestamp_assigner(FirstField)  # type: ignore[arg-type]
    with pytest.raises(Unsupported):
        AssignerWithPeriodicWatermarksWrapper(None)
