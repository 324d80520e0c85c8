"""Dates, times, patterns and time zones in internal form."""

from __future__ import annotations

import pytest

from headrace.core.logical_types import BIGINT, STRING
from headrace.errors import InvalidArgument
from headrace.operators.functions import dates, temporal, time_units
from headrace.operators.functions.date_parsing import parsed
from headrace.operators.functions.date_patterns import Moment, formatted, written
from headrace.operators.functions.session import instant_of, session_time_zone, wall_of, zone_of

HOUR = 3600 * dates.SECOND_NANOS
BERLIN = zone_of("Europe/Berlin")


def at(text: str) -> int:
    return dates.read_timestamp(text)


@pytest.mark.parametrize(
    "text", ["0001-01-01", "1600-02-29", "1969-12-31", "2020-02-29", "9999-12-31"]
)
def test_dates_are_read_and_written(text: str) -> None:
    assert dates.date_text(dates.read_date(text)) == text


def test_years_beyond_python_s_calendar() -> None:
    assert dates.civil(dates.days_of(-4, 2, 29)) == (-4, 2, 29)
    assert dates.civil(dates.days_of(12345, 12, 31)) == (12345, 12, 31)


def test_months_end_where_the_month_ends() -> None:
    assert dates.date_text(dates.plus_months(dates.read_date("2020-01-31"), 1)) == "2020-02-29"
    assert dates.date_text(dates.plus_months(dates.read_date("2020-03-31"), -1)) == "2020-02-29"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy-MM-dd HH:mm:ss.SSS", "2020-12-27 13:04:05.678"),
        ("EEE, d MMM yyyy hh:mm a", "Sun, 27 Dec 2020 01:04 PM"),
        ("yy M d H h K k m s S SSSSSS G", "20 12 27 13 1 1 13 4 5 6 678000 AD"),
        ("yyyy-MM-dd'T'HH:mm:ss''", "2020-12-27T13:04:05'"),
        ("YYYY w e EEEE MMMM D", "2021 1 1 Sunday December 362"),
        ("QQQ q", "Q4 4"),
    ],
)
def test_patterns_write(pattern: str, expected: str) -> None:
    wall = at("2020-12-27 13:04:05.678")
    assert written(wall, zone_of("UTC"), pattern) == expected
    assert formatted(Moment.of(wall), pattern) == expected


def test_offsets_are_written() -> None:
    moment = Moment.of(at("2020-07-01 12:00:00"), BERLIN)
    assert formatted(moment, "Z XXX VV") == "+0200 +02:00 Europe/Berlin"
    assert formatted(Moment.of(0), "XXX") == "Z"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2020-02-30", "2020-02-29 00:00:00"),
        ("2021-04-31 12:00:00", "2021-04-30 12:00:00"),
        ("2020-12-31 24:00:00.0", "2021-01-01 00:00:00"),
    ],
)
def test_a_timestamp_on_a_day_that_the_month_has_not_is_on_its_last_day(text, meant) -> None:
    assert at(text) == at(meant)


@pytest.mark.parametrize(
    "text", ["2020-01-32", "2020-00-01", "2020-13-01", "2020-01-00", "2020-01-01 24:00:01"]
)
def test_a_timestamp_on_a_day_that_no_month_has_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        at(text)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("20200131", "yyyyMMdd", "2020-01-31 00:00:00"),
        ("31 Jan 2020 01:02 PM", "dd MMM yyyy hh:mm a", "2020-01-31 13:02:00"),
        ("2020-01-31", "yyyy-MM-dd[ HH:mm]", "2020-01-31 00:00:00"),
        ("10", "HH", "1970-01-01 10:00:00"),
    ],
)
def test_patterns_read(text: str, pattern: str, expected: str) -> None:
    assert parsed(text, pattern)[0] == at(expected)


@pytest.mark.parametrize("text", ["2020-1-31", "2020-01-31 10", "2020-13-01", "foo"])
def test_patterns_are_strict_unless_lenient(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parsed(text, "yyyy-MM-dd")


def test_lenient_reading_is_that_of_simple_date_format() -> None:
    assert parsed("2020-1-31 10", "yyyy-MM-dd", lenient=True)[0] == at("2020-01-31 00:00:00")
    assert parsed("2020-02-30", "yyyy-MM-dd", lenient=True)[0] == at("2020-03-01 00:00:00")


def test_unknown_letters_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="unknown letter 'f'"):
        written(0, zone_of("UTC"), "foo")


def test_time_zones_with_gaps_and_overlaps() -> None:
    winter = at("2020-03-29 02:30:00")  # does not exist: the clock goes from 2 to 3
    assert wall_of(instant_of(winter, BERLIN), BERLIN) == winter + HOUR
    twice = at("2020-10-25 02:30:00")  # the first of two
    assert instant_of(twice, BERLIN) == twice - 2 * HOUR


@pytest.mark.parametrize("name", ["GMT+08:00", "UTC+8", "+08:00", "Asia/Shanghai", "CTT"])
def test_names_of_time_zones(name: str) -> None:
    assert wall_of(0, zone_of(name)) == 8 * HOUR


def test_unknown_time_zones_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="no time zone 'Mars'"):
        zone_of("Mars")


def test_months_between_look_at_the_clock() -> None:
    months = time_units._months_between
    assert months(at("2020-01-31 00:00:00"), at("2020-02-29 00:00:00")) == 1
    assert months(at("2020-01-15 10:00:00"), at("2020-02-15 09:00:00")) == 0
    assert months(at("2020-02-29 00:00:00"), at("2020-01-31 00:00:00")) == -1


def test_seconds_since_1970_are_those_of_the_session() -> None:
    with session_time_zone("Asia/Shanghai"):
        assert temporal.unix_seconds((), BIGINT)("1970-01-01 08:00:44") == 44
        assert temporal.from_unixtime((), STRING)(44) == "1970-01-01 08:00:44"
