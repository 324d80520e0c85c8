"""Windows of SQL: what comes out when a window is over, and what is late."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError, Unsupported
from headrace.operators.table.window_aggregate import AttachedAggregateOperator
from headrace.operators.table.window_factory import window_aggregate_operator
from headrace.operators.table.window_spec import LATE, WindowSpec
from headrace.operators.windows.panes import NO_WINDOW
from tests.unit.operators.table.driving import MS, UA, UB, D, Driven, I, aggregate

CALLS = [aggregate("SUM", 2), aggregate("COUNT")]
SPANS = ("window_start", "window_end")
TUMBLE, HOP = WindowSpec("tumble", 10), WindowSpec("hop", 10, 5)
CUMULATE, SESSION = WindowSpec("cumulate", 15, 5), WindowSpec("session", 5)


class Windows(Driven):
    """Rows (key, time, number); results are (key, sum, count, start, end) in milliseconds."""

    def __init__(self, window, calls=CALLS, *, time=1, properties=SPANS, **options):
        clock = {"processing_time": options.pop("processing_time", 0)}
        made = window_aggregate_operator(calls, window, time=time, properties=properties, **options)
        super().__init__(made, [0], **clock)

    def rows(self, *rows, kind=I):
        return self.send(*(kind(key, time * MS, number) for key, time, number in rows))

    def take(self):
        rows = self.harness.take_outputs()
        assert all(row[0] == 0 for row in rows)
        return [(*row[1:4], *(at // MS for at in row[4:])) for row in rows]


def test_tumbling_windows_are_told_when_the_watermark_passes_their_end():
    driven = Windows(TUMBLE)
    assert driven.rows(("a", 1, 1), ("a", 9, 2), ("b", 3, 5), ("a", 10, 7)) == []
    assert driven.watermark(8) == []
    assert driven.watermark(9) == [("a", 3, 2, 0, 10), ("b", 5, 1, 0, 10)]
    assert driven.finish() == [("a", 7, 1, 10, 20)]


def test_rows_for_a_window_that_is_over_are_dropped_and_counted():
    driven = Windows(TUMBLE)
    driven.rows(("a", 1, 1))
    driven.watermark(9)
    assert driven.rows(("a", 9, 1), ("a", 10, 2)) == []
    assert driven.counter(LATE) == 1
    assert driven.finish() == [("a", 2, 1, 10, 20)]


def test_hopping_windows_share_their_rows():
    driven = Windows(HOP)
    driven.rows(("a", 1, 1), ("a", 6, 2), ("a", 12, 4))
    assert driven.watermark(4) == [("a", 1, 1, -5, 5)]
    assert driven.watermark(100) == [
        ("a", 3, 2, 0, 10), ("a", 6, 2, 5, 15), ("a", 4, 1, 10, 20),
    ]  # fmt: skip
    assert driven.harness.state_of("slices") == {}
    assert driven.harness.timers() == []


def test_a_row_late_for_one_hopping_window_counts_in_the_others():
    driven = Windows(HOP)
    driven.rows(("a", 6, 2))
    driven.watermark(10)
    driven.rows(("a", 7, 4), ("b", 8, 1), ("a", 1, 9))
    assert driven.counter(LATE) == 1
    assert driven.finish() == [("a", 6, 2, 5, 15), ("b", 1, 1, 5, 15)]


def test_windows_of_many_slices():
    driven = Windows(WindowSpec("hop", 20, 1))
    out = []
    for time in range(60):
        driven.rows(("a", time, time))
        out += driven.watermark(time - 3)
    out += driven.finish()
    sums = [(sum(range(max(0, end - 20), min(end, 60))), end) for end in range(1, 80)]
    assert [(total, end) for _, total, _, _, end in out] == sums


def test_cumulating_windows_grow_by_a_step():
    driven = Windows(CUMULATE)
    driven.rows(("a", 1, 1), ("a", 11, 2))
    assert driven.watermark(4) == [("a", 1, 1, 0, 5)]
    driven.rows(("a", 2, 10))
    assert driven.watermark(9) == [("a", 11, 2, 0, 10)]
    assert driven.watermark(20) == [("a", 13, 3, 0, 15)]
    driven.rows(("a", 14, 1), ("a", 26, 7))
    assert driven.counter(LATE) == 1
    assert driven.finish() == [("a", 7, 1, 15, 30)]
    assert driven.harness.state_of("slices") == {}


def test_a_session_ends_when_nothing_has_come_for_the_gap():
    driven = Windows(SESSION)
    driven.rows(("a", 1, 1), ("a", 11, 2), ("b", 3, 9))
    assert driven.rows(("a", 6, 4)) == []
    assert driven.watermark(7) == [("b", 9, 1, 3, 8)]
    assert driven.watermark(15) == [("a", 7, 3, 1, 16)]
    driven.rows(("a", 11, 1), ("a", 12, 1))
    assert driven.counter(LATE) == 1
    assert driven.finish() == [("a", 1, 1, 12, 17)]


def test_a_late_row_that_touches_an_open_session_belongs_to_it():
    driven = Windows(SESSION)
    driven.rows(("a", 10, 1))
    driven.watermark(12)
    driven.rows(("a", 6, 2), ("a", 1, 4))
    assert driven.finish() == [("a", 7, 3, 1, 15)]


def test_an_offset_moves_windows():
    driven = Windows(WindowSpec("tumble", 10, offset=3))
    driven.rows(("a", 2, 1), ("a", 3, 2))
    assert driven.finish() == [("a", 1, 1, -7, 3), ("a", 2, 1, 3, 13)]
    driven = Windows(WindowSpec("cumulate", 10, 5, -1))
    driven.rows(("a", 8, 1), ("a", 9, 2))
    assert driven.finish() == [
        ("a", 1, 1, -1, 9), ("a", 2, 1, 9, 14), ("a", 2, 1, 9, 19),
    ]  # fmt: skip


@pytest.mark.parametrize("window", [TUMBLE, HOP, CUMULATE, SESSION], ids=lambda w: w.kind)
def test_windows_whose_rows_were_all_taken_back_are_not_told(window):
    driven = Windows(window, retracts=True)
    driven.rows(("a", 1, 1))
    driven.rows(("a", 1, 1), kind=UB)
    assert driven.finish() == []
    driven = Windows(window, retracts=True)
    driven.rows(("a", 1, 1), ("a", 2, 5))
    driven.rows(("a", 1, 1), kind=D)
    driven.rows(("a", 2, 7), kind=UA)
    assert driven.finish()[-1][1:3] == (12, 2)


def test_window_time_is_the_last_millisecond():
    driven = Windows(TUMBLE, properties=("window_time", "window_end"))
    driven.rows(("a", 1, 1))
    assert driven.finish() == [("a", 1, 1, 9, 10)]


def test_by_the_clock():
    driven = Windows(TUMBLE, time=None, processing_time=1)
    driven.rows(("a", 0, 1))
    driven.clock(8)
    driven.rows(("a", 0, 2))
    assert driven.clock(9) == [("a", 3, 2, 0, 10)]
    hop = Windows(HOP, time=None, processing_time=1)
    hop.rows(("a", 0, 1))
    assert hop.clock(4) == [("a", 1, 1, -5, 5)]
    hop.clock(6)
    hop.rows(("a", 0, 2))
    assert hop.clock(30) == [("a", 3, 2, 0, 10), ("a", 2, 1, 5, 15)]
    session = Windows(SESSION, time=None, processing_time=1)
    session.rows(("a", 0, 1))
    session.clock(4)
    session.rows(("a", 0, 2))
    assert session.clock(7) == []
    assert session.clock(8) == [("a", 3, 2, 1, 9)]


def test_a_row_without_a_time_is_refused():
    driven = Windows(TUMBLE)
    with pytest.raises(HeadraceError, match="time attribute of a row is NULL"):
        driven.send(I("a", None, 1))


def instant(*parts):
    return int(datetime(*parts, tzinfo=UTC).timestamp() * 1000)


def test_windows_of_a_day_follow_the_clocks_of_the_zone():
    day = 86_400_000
    driven = Windows(WindowSpec("tumble", day), zone="Asia/Shanghai",
                     properties=("window_start", "window_end", "window_time"))  # fmt: skip
    driven.rows(("a", instant(2021, 4, 15, 15, 59), 1), ("a", instant(2021, 4, 15, 16), 2))
    assert driven.watermark(instant(2021, 4, 15, 16) - 2) == []
    assert driven.watermark(instant(2021, 4, 15, 16) - 1) == [
        ("a", 1, 1, instant(2021, 4, 15), instant(2021, 4, 16), instant(2021, 4, 15, 16) - 1)
    ]


def test_an_hour_that_clocks_show_twice_is_one_window():
    hour = 3_600_000
    driven = Windows(WindowSpec("tumble", hour), zone="America/Los_Angeles")
    first, second = instant(2021, 11, 7, 8, 30), instant(2021, 11, 7, 9, 30)  # both 1:30
    driven.rows(("a", first, 1))
    assert driven.watermark(instant(2021, 11, 7, 9)) == []
    driven.rows(("a", second, 2))
    assert driven.watermark(instant(2021, 11, 7, 10) - 1) == [
        ("a", 3, 2, instant(2021, 11, 7, 1), instant(2021, 11, 7, 2))
    ]
    assert driven.counter(LATE) == 0


def test_an_hour_that_clocks_leave_out_is_no_window():
    hour = 3_600_000
    driven = Windows(WindowSpec("tumble", hour), zone="America/Los_Angeles")
    driven.rows(("a", instant(2021, 3, 14, 9, 59), 1), ("a", instant(2021, 3, 14, 10), 2))
    assert driven.finish() == [
        ("a", 1, 1, instant(2021, 3, 14, 1), instant(2021, 3, 14, 2)),
        ("a", 2, 1, instant(2021, 3, 14, 3), instant(2021, 3, 14, 4)),
    ]


def test_windows_that_rows_carry_already():
    operator = AttachedAggregateOperator([aggregate("SUM", 3)], (1, 2), properties=SPANS)
    driven = Driven(operator, [0])
    driven.send(I("a", 0, 10 * MS, 1), I("a", 0, 10 * MS, 2), I("a", 0, 20 * MS, 4))
    assert driven.watermark(9) == [f"+I[a, 3, 0, {10 * MS}]"]
    driven.send(I("a", 0, 10 * MS, 8))
    assert driven.counter(LATE) == 1
    assert driven.finish() == [f"+I[a, 4, 0, {20 * MS}]"]


def test_windows_of_so_many_rows():
    def counting(window):
        return Driven(window_aggregate_operator([aggregate("SUM", 1)], window, time=None), [0])

    driven = counting(WindowSpec("count_tumble", 2))
    assert driven.send(I("a", 1), I("b", 9), I("a", 2), I("a", 4)) == ["+I[a, 3]"]
    assert driven.send(I("a", 8)) == ["+I[a, 12]"]
    driven = counting(WindowSpec("count_slide", 3, 2))
    assert driven.send(*(I("a", number) for number in (1, 2, 4, 8, 16, 32, 64))) == [
        "+I[a, 7]", "+I[a, 28]", "+I[a, 112]",
    ]  # fmt: skip
    with pytest.raises(Unsupported, match="so many rows"):
        window_aggregate_operator([], WindowSpec("count_tumble", 2), time=None, retracts=True)


# Against a model, under random cuts.


def model(window, steps):
    """What comes out of rows (key, time, number) and watermarks (a time), in order."""
    told, late, open_windows, watermark = Counter(), 0, {}, -1

    def fire():
        for (key, start, end), numbers in list(open_windows.items()):
            if end - 1 <= watermark:
                del open_windows[key, start, end]
                told[key, sum(numbers), len(numbers), start, end] += 1

    for step in steps:
        if isinstance(step, int):
            watermark = max(watermark, step)
            fire()
            continue
        key, time, number = step
        if window.kind == "session":
            spans = [s for s in open_windows if s[0] == key and s[1] <= time + 5 and s[2] >= time]
            if not spans and time + 4 <= watermark:
                late += 1
                continue
            numbers = [n for span in spans for n in open_windows.pop(span)] + [number]
            start = min([time, *(s[1] for s in spans)])
            open_windows[key, start, max([time + 5, *(s[2] for s in spans)])] = numbers
            continue
        spans = [span for span in window.spans_of(time) if span[1] - 1 > watermark]
        late += not spans
        for start, end in spans:
            open_windows.setdefault((key, start, end), []).append(number)
    watermark = 10**9
    if window.kind == "cumulate":
        return None, late
    fire()
    return told, late


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.integers(0, 9)), st.integers(0, 50)
    ),
    max_size=30,
)  # fmt: skip
WINDOWS = [TUMBLE, HOP, SESSION, WindowSpec("hop", 30, 2), WindowSpec("hop", 7, 3, 1),
           WindowSpec("tumble", 4, offset=1), WindowSpec("hop", 3, 5)]  # fmt: skip


def run(driven, steps, together=4):
    out, waiting, watermark = [], [], -1
    for step in steps:
        if not isinstance(step, int):
            waiting.append(step)
            if len(waiting) < together:
                continue
        if waiting:
            out += driven.rows(*waiting)
            waiting = []
        if isinstance(step, int) and step > watermark:
            watermark = step
            out += driven.watermark(step)
    if waiting:
        out += driven.rows(*waiting)
    return out + driven.finish()


@settings(max_examples=60, deadline=None)
@given(STEPS, st.sampled_from(WINDOWS), st.integers(1, 5))
def test_results_are_those_of_the_model(steps, window, together):
    driven = Windows(window)
    told, late = model(window, steps)
    assert Counter(run(driven, steps, together)) == told
    assert driven.counter(LATE) + driven.counter(NO_WINDOW) == late
    assert driven.harness.timers() == []


@settings(max_examples=30, deadline=None)
@given(STEPS, st.integers(1, 5))
def test_cumulating_windows_hold_all_that_came_before_they_were_over(steps, together):
    out = run(Windows(CUMULATE), steps, together)
    expected, watermark = Counter(), -1
    rows = []
    for step in steps:
        if isinstance(step, int):
            watermark = max(watermark, step)
        else:
            rows.append((*step, watermark))
    for key in "ab":
        for end in range(5, 80, 5):
            start = (end - 1) // 15 * 15
            mine = [n for k, t, n, mark in rows
                    if k == key and start <= t < end and end - 1 > mark]  # fmt: skip
            # A row that came when a shorter window was over counts in the longer ones, too.
            if mine:
                expected[key, sum(mine), len(mine), start, end] += 1
    assert Counter(out) == expected


@settings(max_examples=20, deadline=None)
@given(STEPS, st.sampled_from([TUMBLE, HOP, CUMULATE, SESSION]))
def test_a_crash_changes_nothing(steps, window):
    smooth, rough = Windows(window), Windows(window)
    one, other, watermark = [], [], -1
    for step in steps:
        if isinstance(step, int):
            if step <= watermark:
                continue
            watermark = step
            one += smooth.watermark(step)
            other += rough.watermark(step)
            rough.crash()
        else:
            smooth.rows(step)
            rough.rows(step)
    assert Counter(one + smooth.finish()) == Counter(other + rough.finish())
