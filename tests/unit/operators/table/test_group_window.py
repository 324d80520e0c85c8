"""Group windows that are told early, or corrected when rows come late."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.operators.table.group_window import EmitOptions, GroupWindowOperator
from headrace.operators.table.window_spec import LATE, WindowSpec
from tests.unit.operators.table.driving import MS, UB, D, Driven, I, aggregate, materialised

TUMBLE, HOP, SESSION = (
    WindowSpec("tumble", 10), WindowSpec("hop", 10, 5), WindowSpec("session", 5),
)  # fmt: skip
EACH_ROW = EmitOptions(early_ms=0, late_ms=0, lateness_ms=5)


class Windows(Driven):
    """Rows (key, time, number); results show the key, the sum and the window's start in ms."""

    def __init__(self, window=TUMBLE, emit=EACH_ROW, *, time=1, **options):
        operator = GroupWindowOperator(
            [aggregate("SUM", 2)], window, time=time, properties=("window_start",), emit=emit,
            **{"per_record": True, **options},
        )  # fmt: skip
        super().__init__(operator, [0])

    def rows(self, *rows, kind=I):
        return self.send(*(kind(key, time * MS, number) for key, time, number in rows))

    def take(self):
        rows = self.harness.take_outputs()
        return [f"{['+I', '-U', '+U', '-D'][row[0]]}[{row[1]}, {row[2]}, {row[3] // MS}]"
                for row in rows]  # fmt: skip


def test_with_every_row():
    driven = Windows()
    assert driven.rows(("a", 1, 1), ("a", 2, 2)) == ["+I[a, 1, 0]", "-U[a, 1, 0]", "+U[a, 3, 0]"]
    assert driven.watermark(9) == []  # all has been told
    assert driven.rows(("a", 3, 4)) == ["-U[a, 3, 0]", "+U[a, 7, 0]"]
    driven.watermark(14)
    assert driven.rows(("a", 3, 4)) == []
    assert driven.counter(LATE) == 1


def test_a_micro_batch_is_told_once():
    driven = Windows(per_record=False)
    assert driven.rows(("a", 1, 1), ("a", 2, 2)) == ["+I[a, 3, 0]"]
    assert driven.rows(("a", 1, 1), ("a", 12, 2), ("a", 13, 2)) == [
        "-U[a, 3, 0]", "+U[a, 4, 0]", "+I[a, 4, 10]",
    ]  # fmt: skip


def test_every_so_often_before_the_end():
    driven = Windows(emit=EmitOptions(early_ms=100))
    assert driven.rows(("a", 1, 1), ("a", 2, 2)) == []
    assert driven.clock(99) == []
    assert driven.clock(100) == ["+I[a, 3, 0]"]
    assert driven.clock(200) == []  # nothing new
    driven.rows(("a", 3, 4))
    assert driven.clock(300) == ["-U[a, 3, 0]", "+U[a, 7, 0]"]
    driven.rows(("a", 4, 8))
    assert driven.watermark(9) == ["-U[a, 7, 0]", "+U[a, 15, 0]"]
    assert driven.rows(("a", 4, 8)) == []
    assert driven.counter(LATE) == 1


def test_late_rows_correct_a_window_until_the_lateness_has_passed():
    driven = Windows(emit=EmitOptions(lateness_ms=5))
    assert driven.rows(("a", 1, 1)) == []
    assert driven.watermark(9) == ["+I[a, 1, 0]"]
    assert driven.rows(("a", 2, 2)) == ["-U[a, 1, 0]", "+U[a, 3, 0]"]
    assert driven.rows(("b", 2, 2)) == ["+I[b, 2, 0]"]
    assert driven.watermark(14) == []
    assert driven.rows(("a", 2, 2)) == []
    assert driven.harness.state_of("group-windows") == {}


def test_every_so_often_after_the_end():
    driven = Windows(emit=EmitOptions(late_ms=100, lateness_ms=50))
    driven.rows(("a", 1, 1))
    assert driven.watermark(9) == ["+I[a, 1, 0]"]
    assert driven.rows(("a", 2, 2), ("a", 3, 4)) == []
    assert driven.clock(100) == ["-U[a, 1, 0]", "+U[a, 7, 0]"]


def test_rows_taken_back():
    driven = Windows(retracts=True)
    assert driven.rows(("a", 1, 1)) == ["+I[a, 1, 0]"]
    assert driven.rows(("a", 1, 1), kind=UB) == ["-D[a, 1, 0]"]
    assert driven.rows(("a", 1, 5)) == ["+I[a, 5, 0]"]
    assert driven.rows(("a", 1, 5), kind=D) == ["-D[a, 5, 0]"]
    assert driven.finish() == []


def test_without_what_was_before():
    driven = Windows(emits_before=False)
    assert driven.rows(("a", 1, 1), ("a", 2, 2)) == ["+I[a, 1, 0]", "+U[a, 3, 0]"]


def test_hopping_windows():
    driven = Windows(HOP)
    assert driven.rows(("a", 6, 1)) == ["+I[a, 1, 5]", "+I[a, 1, 0]"]
    assert driven.rows(("a", 3, 2)) == ["-U[a, 1, 0]", "+U[a, 3, 0]", "+I[a, 2, -5]"]


def test_sessions_that_grow_together_take_back_what_was_told():
    driven = Windows(SESSION)
    assert driven.rows(("a", 1, 1), ("a", 9, 2)) == ["+I[a, 1, 1]", "+I[a, 2, 9]"]
    assert driven.rows(("a", 5, 4)) == ["-D[a, 1, 1]", "-D[a, 2, 9]", "+I[a, 7, 1]"]
    assert driven.finish() == []


def test_by_the_clock():
    driven = Windows(emit=EmitOptions(early_ms=4), time=None)
    driven.rows(("a", 0, 1))
    assert driven.clock(4) == ["+I[a, 1, 0]"]
    driven.rows(("a", 0, 2))
    assert driven.clock(9) == ["-U[a, 1, 0]", "+U[a, 3, 0]"]
    assert driven.harness.state_of("group-windows") == {}


def test_state_survives_a_crash():
    driven = Windows()
    driven.rows(("a", 1, 1))
    driven.crash()
    assert driven.rows(("a", 2, 2)) == ["-U[a, 1, 0]", "+U[a, 3, 0]"]


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 9)), max_size=20
)


@settings(max_examples=25, deadline=None)
@given(ROWS, st.sampled_from([TUMBLE, HOP, SESSION]), st.booleans(), st.integers(1, 4))
def test_what_was_told_early_ends_as_the_plain_window(rows, window, per_record, together):
    def results(emit):
        driven = Windows(window, emit, per_record=per_record)
        for at in range(0, len(rows), together):
            driven.harness.send_all(
                [I(key, time * MS, number) for key, time, number in rows[at : at + together]]
            )
        driven.harness.finish()
        return materialised(driven.harness.take_outputs())

    early, plain = results(EmitOptions(early_ms=0)), results(EmitOptions())
    assert early == plain
    if window.kind != "session":
        expected = Counter()
        for key, time, number in rows:
            for start, _ in window.spans_of(time):
                expected[key, start * MS] += number
        assert Counter({(row[0], row[2]): row[1] for row in plain}) == expected
