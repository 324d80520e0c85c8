"""Amounts of time and points in time."""

import pytest

from headrace.core.time import Duration, Instant, Time
from headrace.errors import TypeMismatch


def test_units() -> None:
    assert Duration.of_days(1) == Duration.of_hours(24) == Duration.of_minutes(1440)
    assert Duration.of_seconds(1) == Duration.of_millis(1000) == Duration.of_nanos(10**9)
    assert Duration.of_nanos(1_999_999).to_millis() == 1
    assert Time.days(1) == Time.hours(24) == Time.minutes(1440) == Time.seconds(86_400)
    assert Time.seconds(2).to_milliseconds() == 2000
    assert Duration.of_seconds(1) < Duration.of_seconds(2)


def test_text() -> None:
    assert str(Time.seconds(2)) == "2000 ms"
    assert str(Duration.of_seconds(2)) == "2000 ms"
    assert str(Duration.of_nanos(5)) == "5 ns"
    assert repr(Instant(1, 2)) == "Instant<1, 2>"


@pytest.mark.parametrize("millis", [0, 1, 1234, -1, -1500, 2**40])
def test_instants_keep_their_milliseconds(millis: int) -> None:
    assert Instant.of_epoch_milli(millis).to_epoch_milli() == millis


def test_fractions_are_refused() -> None:
    with pytest.raises(TypeMismatch, match=r"1.5 seconds is not a whole number \(got float\)"):
        Duration.of_seconds(1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match="smaller unit"):
        Time.hours(0.5)  # type: ignore[arg-type]
