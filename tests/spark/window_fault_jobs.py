"""A windowed job that is disturbed while it runs, and what it must give all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headrace.common import Duration, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from headrace.datastream.window import EventTimeSessionWindows, TimeWindow
from tests.spark.fault_jobs import Ledger, Numbers, files
from tests.windows.oracle import Oracle, Record, Spec

LATE = OutputTag("late")
GAP, LATENESS, OUT_OF_ORDERNESS = 60, 200, 50


def click(number: int, splits: int) -> Record:
    """A record of a split's own keys: out of order, in bursts, and now and then very late."""
    n, split = divmod(number, splits)
    time = n * 10 - n * 37 % 90 + n // 30 * 500
    if n % 13 == 12:
        time -= 1500
    elif n % 7 == 6:
        time -= 200
    return Record(f"{split}-{n % 5}", n, time)


class ClickTime(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return value.time


class Sessions(ProcessWindowFunction[Any, str, str, TimeWindow]):
    def __init__(self, disturb: Callable[[], None] | None, at: int):
        self._disturb, self._at = disturb, at

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterable[str]:
        numbers = sorted(record.number for record in elements)
        if self._disturb is not None and numbers[-1] >= self._at:
            self._disturb()
        window = context.window()
        yield pane_line(key, (window.start, window.end), numbers)


def pane_line(key: str, window: tuple[int, int], numbers: Iterable[int]) -> str:
    return f"{key} {window[0]} {window[1]} {sorted(numbers)}"


def late_line(record: Record) -> str:
    return f"{record.key} {record.number} {record.time}"


def build(
    env: StreamExecutionEnvironment, source: Numbers, output: Path,
    disturb: Callable[[], None] | None = None, at: int = 0,
    after_commit: Callable[[], None] | None = None,
) -> None:  # fmt: skip
    """Sessions with allowed lateness; panes and late records go to sinks of their own."""
    splits = source.count
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(OUT_OF_ORDERNESS)
    ).with_timestamp_assigner(ClickTime())
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    clicks = numbers.map(lambda pair: click(pair[1], splits))
    timed = clicks.assign_timestamps_and_watermarks(strategy)
    panes = (
        timed.key_by(lambda record: record.key)
        .window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP)))
        .allowed_lateness(LATENESS)
        .side_output_late_data(LATE)
        .process(Sessions(disturb, at), Types.STRING())
    )
    panes.uid("sessions").sink_to(files(output / "panes"))
    late = panes.get_side_output(LATE).map(late_line, Types.STRING())
    late.sink_to(Ledger(output / "late", after_commit))


def expected_outputs(source: Numbers, *, cut: bool) -> dict[str, Counter[str]]:
    """What the oracle says; with `cut`, time advances after each step of the source."""
    oracle = Oracle(Spec(("session", GAP), lateness=LATENESS))
    newest = [-(2**62)] * source.count
    for start in range(0, source.limit, source.step if cut else source.limit):
        stop = min(start + source.step, source.limit) if cut else source.limit
        for split in range(source.count):
            for n in range(start, stop):
                record = click(n * source.count + split, source.count)
                oracle.take(record)
                newest[split] = max(newest[split], record.time)
        oracle.take(min(newest) - OUT_OF_ORDERNESS - 1 if cut else oracle.watermark)
    oracle.run(())
    return {
        "panes": Counter(pane_line(pane.key, pane.window, pane.numbers)
                         for pane in oracle.panes),
        "late": Counter(late_line(record) for record in oracle.late),
    }  # fmt: skip
