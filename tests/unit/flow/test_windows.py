"""How much may be on its way between two tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.flow.load import Load
from headrace.runtime.flow.output import Output
from headrace.runtime.flow.parcels import RECORDS, Parcel
from headrace.runtime.flow.windows import FIRST_WINDOW, Windows


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def worked_off(windows: Windows, clock: Clock, speed: float, seconds: float) -> int:
    """Work off parcels of a kilobyte for so long; the window that was told last."""
    window = FIRST_WINDOW
    for _ in range(int(speed * seconds / 1000)):
        clock.now += 1000 / speed
        told = windows.worked_off(0, 1000)
        if told is not None:
            _, window = told
    return window


def test_a_window_is_what_is_worked_off_in_half_a_second():
    clock = Clock()
    windows = Windows(1, Load(clock))
    assert 0.8 < worked_off(windows, clock, 1_000_000, 10) / 500_000 < 1.2
    assert 0.8 < worked_off(windows, clock, 100_000, 20) / 50_000 < 1.2


def test_windows_have_bounds():
    clock = Clock()
    windows = Windows(2, Load(clock))
    assert worked_off(windows, clock, 10_000, 60) == 4096
    assert worked_off(windows, clock, 1_000_000_000, 0.2) == 4 * 1024 * 1024


def test_time_without_work_does_not_count():
    clock = Clock()
    load = Load(clock)
    windows = Windows(1, load)
    worked_off(windows, clock, 1_000_000, 5)
    clock.now += 100
    load.waited(100, for_room=False)
    assert 0.8 < worked_off(windows, clock, 1_000_000, 5) / 500_000 < 1.2


@given(st.lists(st.integers(1, 60_000), max_size=200), st.integers(0, 100))
def test_what_is_not_told_is_less_than_a_window(sizes, tenths):
    """Or a sender would wait for word that does not come."""
    clock = Clock()
    windows = Windows(3, Load(clock))
    window, untold = FIRST_WINDOW, 0
    for size in sizes:
        clock.now += tenths / 10
        untold += size
        told = windows.worked_off(1, size)
        if told is not None:
            assert told[0] == untold
            untold, window = 0, told[1]
        assert untold < window


def test_output_waits_for_room_in_order():
    output = Output(0, 2)
    large, small = b"x" * FIRST_WINDOW, b"y"
    sent = list(output.records([(0, large), (0, small), (1, small)]))
    assert [(slot, Parcel.decode(blob).number) for slot, blob in sent] == [(0, 0)]
    assert output.is_blocked
    sent = list(output.make_room(0, FIRST_WINDOW, FIRST_WINDOW))
    assert [(slot, Parcel.decode(blob).content) for slot, blob in sent] == [(0, small), (1, small)]
    assert not output.is_blocked


def test_a_barrier_takes_along_what_waits_and_leaves_no_room():
    output = Output(0, 1)
    list(output.records([(0, b"x" * FIRST_WINDOW), (0, b"y")]))
    kinds = [Parcel.decode(blob).kind for _, blob in output.barrier(1, b"")]
    assert kinds[0] == RECORDS
    assert len(kinds) == 2
    assert output.is_blocked
    assert not list(output.make_room(0, FIRST_WINDOW + 1, FIRST_WINDOW))
    assert not output.is_blocked
