"""Draws the pictures of docs/time-and-windows.md: `make pictures`.

Where windows lie, when they fire and how far the watermark has come is asked of headrace itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from svg import BLUE, GREEN, GREY, INK, ORANGE, PALE, RED, Picture

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from headrace.testing import JobHarness, OperatorHarness, ScriptedSource

CLICKS = {"ann": [1, 4, 8, 13, 22, 25, 37], "bob": [2, 9, 11, 14, 31, 34, 38]}
"""Seconds of event time, by key."""
LATE = OutputTag("late")

Pane = tuple[float, float, list[float]]
"""Start and end of a window that fired, in seconds, and what it held."""


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1] * 1000)


class Describe(ProcessWindowFunction):
    """Gives the window and its records."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        times = [second for _, second in elements]
        span = (window.start / 1000, window.end / 1000) if hasattr(window, "start") else (0, 0)
        yield key, (*span, times)


def panes(windowed: Callable[[Any], Any]) -> dict[str, list[Pane]]:
    """What fires for the clicks, by key."""
    env = StreamExecutionEnvironment.get_execution_environment()
    clicks = sorted(((key, at) for key, times in CLICKS.items() for at in times), key=_time)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    stream = env.from_collection(clicks).assign_timestamps_and_watermarks(strategy)
    fired = JobHarness().run(windowed(stream.key_by(_key)).process(Describe())).values
    return {key: [pane for owner, pane in fired if owner == key] for key in CLICKS}


def _key(click: Any) -> Any:
    return click[0]


def _time(click: Any) -> Any:
    return click[1]


def by_key(windowed: Callable[[Any], Any], *, tight: bool = False) -> Picture:
    """A lane for each key, its windows as boxes; `tight` ones reach around their records."""
    picture = Picture(0, 50, 170)
    fired = panes(windowed)
    for lane, (key, times) in enumerate(CLICKS.items()):
        y = 45 + 50 * lane
        picture.label(y + 4, key)
        for start, end, held in fired[key]:
            around = (held[0] - 0.7, held[-1] + 0.7) if tight else (start, end)
            picture.box(*around, y - 17, 34)
        for time in times:
            picture.dot(time, y)
    picture.axis(135, range(0, 51, 10), "event time, s")
    return picture


def tumbling() -> Picture:
    return by_key(lambda stream: stream.window(TumblingEventTimeWindows.of(Time.seconds(10))))


def session() -> Picture:
    return by_key(lambda stream: stream.window(EventTimeSessionWindows.with_gap(Time.seconds(6))))


def count() -> Picture:
    return by_key(lambda stream: stream.count_window(3), tight=True)


def sliding() -> Picture:
    """One key; every window in a lane of its own."""
    assigner = SlidingEventTimeWindows.of(Time.seconds(20), Time.seconds(10))
    fired = panes(lambda stream: stream.window(assigner))["ann"]
    picture = Picture(-10, 60, 75 + 30 * len(fired) + 30)
    picture.label(34, "ann")
    for time in CLICKS["ann"]:
        picture.line((time, 30), (time, 48 + 30 * len(fired)), PALE)
        picture.dot(time, 30)
    for lane, (start, end, held) in enumerate(fired):
        picture.box(start, end, 50 + 30 * lane, 22)
        picture.text(
            (start + end) / 2, 66 + 30 * lane, f"{len(held)} record{'s' if len(held) > 1 else ''}"
        )
    picture.axis(65 + 30 * len(fired), range(-10, 61, 10), "event time, s")
    return picture


# How the watermark follows the records.

ARRIVALS = [[2, 5, 4, 9], [7, 12, 11, 16], [10, 15, 20, 13], [19, 24, 22, 26]]
"""Seconds of event time in order of arrival, one list for each micro-batch."""


class SeenWatermark(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value[1], max(-3, ctx.timer_service().current_watermark() / 1000)


def seen_watermarks(interval_ms: int) -> list[tuple[float, float]]:
    """Each record's time, and the watermark it saw, in seconds."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.get_config().set_auto_watermark_interval(interval_ms)
    source = ScriptedSource([[("k", at) for at in batch] for batch in ARRIVALS])
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(4))
    timed = env.from_source(source, strategy.with_timestamp_assigner(Seconds()), "clicks")
    return JobHarness().run(timed.key_by(_key).process(SeenWatermark())).values


def watermark() -> Picture:
    """Arrival to the right, event time upwards: the line follows the records from below."""
    at_once, by_batch = seen_watermarks(0), seen_watermarks(200)
    picture = Picture(0.5, len(at_once) + 0.5, 330)

    def y(seconds: float) -> float:
        return round(270 - 8 * seconds, 1)

    for second in range(0, 21, 10):
        picture.line((0.5, y(second)), (len(at_once) + 0.5, y(second)), PALE)
        picture.label(y(second) + 4, f"{second} s", GREY)
    for cut in range(4, len(at_once), 4):
        picture.line((cut + 0.5, 25), (cut + 0.5, 325), GREY, "2 4")
    _steps(picture, y, [seen for _, seen in at_once], ORANGE, "")
    _steps(picture, y, [seen for _, seen in by_batch], BLUE, "6 4")
    for place, (time, seen) in enumerate(at_once, start=1):
        picture.dot(place, y(time), RED if time <= seen else INK)
    picture.text(0.6, 20, "watermark after every record", ORANGE, "start")
    picture.text(6.4, 20, "after every micro-batch", BLUE, "start")
    picture.text(11, 20, "record behind the first line", RED, "start")
    picture.label(54, "event time", GREY)
    picture.label(319, "arrival", GREY)
    for batch in range(len(ARRIVALS)):
        picture.text(4 * batch + 2.5, 319, f"micro-batch {batch + 1}", GREY)
    return picture


def _steps(picture: Picture, y: Callable[[float], float], levels: list[float], color: str,
           dashes: str) -> None:  # fmt: skip
    for place, level in enumerate(levels, start=1):
        picture.line((place - 0.5, y(level)), (place + 0.5, y(level)), color, dashes, 2)
        if place < len(levels):
            following = y(levels[place])
            picture.line((place + 0.5, y(level)), (place + 0.5, following), color, dashes, 2)


# When windows fire.

STEPS = [1, 2, 4, 5, 6, 8, 9]
"""Seconds at which records of one window come, in order."""


def firings(trigger: Trigger[Any, Any]) -> list[tuple[float, int]]:
    """At which watermark a window of ten seconds fires, and with how many records."""

    def windows(stream: Any) -> Any:
        assigned = stream.key_by(_key).window(TumblingEventTimeWindows.of(Time.seconds(10)))
        return assigned.trigger(trigger).process(Describe())

    found: list[tuple[float, int]] = []
    with OperatorHarness(windows) as harness:
        for second in range(13):
            if second in STEPS:
                harness.send(("k", second), timestamp=second * 1000)
            harness.advance_watermark(second * 1000)
            found += [(second, len(pane[2])) for _, pane in harness.take_outputs()]
    return found


def triggers() -> Picture:
    """The same records under several triggers."""
    lanes: dict[str, Trigger[Any, Any]] = {
        "EventTime": EventTimeTrigger.create(),
        "Count, 3": CountTrigger.of(3),
        "Purging, Count, 3": PurgingTrigger.of(CountTrigger.of(3)),
        "Continuous, 4 s": ContinuousEventTimeTrigger.of(Time.seconds(4)),
    }
    picture = Picture(0, 12, 80 + 46 * len(lanes))
    for lane, (name, trigger) in enumerate(lanes.items()):
        y = 40 + 46 * lane
        picture.label(y + 4, name)
        picture.box(0, 10, y - 12, 24)
        for second in STEPS:
            picture.dot(second, y)
        for at, held in firings(trigger):
            picture.diamond(at, y + 17)
            picture.text(at + 0.15, y + 22, held, GREEN, "start")
    picture.axis(46 + 46 * len(lanes), range(0, 13, 2), "watermark, s")
    return picture


ALLOWED, LATE_STEPS = 5, [(3, 2), (7, 8), (9, 11), (4, 13), (6, 16)]
"""Allowed lateness, and records: seconds of event time, and the watermark when they come."""


def outcomes() -> list[tuple[float, float, str, Any]]:
    """For each record its time, the watermark when it comes, and what becomes of it."""
    size: WindowAssigner[Any, Any] = TumblingEventTimeWindows.of(Time.seconds(10))

    def windows(stream: Any) -> Any:
        kept = stream.key_by(_key).window(size).allowed_lateness(ALLOWED * 1000)
        return kept.side_output_late_data(LATE).process(Describe())

    found: list[tuple[float, float, str, Any]] = []
    with OperatorHarness(windows) as harness:
        for time, now in LATE_STEPS:
            harness.advance_watermark(now * 1000)
            found += [(0, 10, "fires", len(pane[2])) for _, pane in harness.take_outputs()]
            harness.send(("k", time), timestamp=time * 1000)
            fired = [len(pane[2]) for _, pane in harness.take_outputs()]
            if len(harness.side_output(LATE)):
                found.append((time, now, "side output", None))
            else:
                found.append((time, now, "fires again", fired[0]) if fired else
                             (time, now, "in time", None))  # fmt: skip
    return found


def lateness() -> Picture:
    """A window's life along the watermark."""
    picture = Picture(0, 20, 200)
    picture.box(0, 10, 60, 50)
    picture.box(10, 10 + ALLOWED, 60, 50, ORANGE)
    picture.text(5, 50, "window open")
    picture.text(12.5, 50, "allowed lateness", ORANGE)
    picture.text(17.5, 50, "window dropped", GREY)
    colors = {"in time": INK, "fires again": ORANGE, "side output": RED}
    for time, now, outcome, held in outcomes():
        if outcome == "fires":
            picture.diamond(now, 85)
            picture.text(now, 25, f"fires: {held}", GREEN)
            continue
        picture.dot(now, 85, colors[outcome])
        picture.text(now, 104, f"{time} s", colors[outcome])
        if outcome != "in time":
            shown = outcome if held is None else f"again: {held}"
            picture.line((now, 107), (now, 119), colors[outcome], "2 3")
            picture.text(now, 132, shown, colors[outcome])
    picture.label(89, "records that come")
    picture.axis(160, range(0, 21, 5), "watermark, s")
    return picture


PICTURES = (tumbling, sliding, session, count, watermark, triggers, lateness)


def draw_all(folder: Path) -> None:
    """Write every picture into a folder, under the name of its function."""
    for draw in PICTURES:
        draw().save(folder / f"{draw.__name__}.svg")


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
