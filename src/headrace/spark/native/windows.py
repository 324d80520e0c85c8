"""Windowing functions over bounded tables."""

from __future__ import annotations

from pyspark.sql import DataFrame

from headrace.core.logical_types import LocalZonedTimestampType, is_proctime
from headrace.graph.relations import Window, WindowAggregate, WindowTable
from headrace.spark.native.aggregates import grouped
from headrace.spark.native.expressions import column
from headrace.spark.native.frames import Frames
from headrace.spark.native.types import NotNative

_START, _END = "window_start", "window_end"
_MILLISECOND = "INTERVAL '0.001' SECOND"


def window_table(frames: Frames, relation: WindowTable) -> DataFrame:
    """The input's columns, then window_start, window_end, window_time."""
    frame = frames.frame(relation.input)
    width = len(relation.input.schema)
    time = relation.input.types[relation.time]
    made = _windowed(frame, relation.window, relation.time, width)
    end_time = f"{_END} - {_MILLISECOND}"
    if isinstance(time, LocalZonedTimestampType):
        end_time = f"CAST({end_time} AS TIMESTAMP)"
    if is_proctime(time):
        raise NotNative("windows of processing time")
    return made.selectExpr(
        *map(column, range(width)),
        f"{_START} AS {column(width)}",
        f"{_END} AS {column(width + 1)}",
        f"{end_time} AS {column(width + 2)}",
    )


def _windowed(frame: DataFrame, window: Window, time: int, width: int) -> DataFrame:
    """The frame with columns for start and end; wall-clock time also for TIMESTAMP_LTZ."""
    wall = f"CAST({column(time)} AS TIMESTAMP_NTZ)"
    match window.kind:
        case "tumble" | "hop":
            slide = window.slide or window.size
            spans = f"window({wall}, {_span(window.size)}, {_span(slide)}, {_span(window.offset)})"
            wide = frame.selectExpr("*", f"{spans} AS span")
            return wide.selectExpr("*", f"span.start AS {_START}", f"span.end AS {_END}")
        case "cumulate":
            return _cumulated(frame, window, wall)
        case "session":
            return _sessions(frame, window, wall)
    raise NotNative(f"windows of kind {window.kind}")


def _span(milliseconds: int) -> str:
    return f"'{milliseconds} milliseconds'"


def _cumulated(frame: DataFrame, window: Window, wall: str) -> DataFrame:
    """The largest window of a row, and of it each part that ends after the row."""
    whole = f"window({wall}, {_span(window.size)}, {_span(window.size)}, {_span(window.offset)})"
    wide = frame.selectExpr("*", f"{whole} AS span").selectExpr("*", f"span.start AS {_START}")
    passed = f"timestampdiff(MICROSECOND, {_START}, {wall})"
    step = window.slide * 1000
    first = f"({passed} div {step}L) + 1L"
    ends = f"sequence({first}, {window.size * 1000 // step}L)"
    wide = wide.selectExpr("*", f"explode({ends}) AS steps")
    return wide.selectExpr(
        "*", f"{_START} + make_dt_interval(0, 0, 0, steps * {window.slide / 1000}) AS {_END}"
    )


def _sessions(frame: DataFrame, window: Window, wall: str) -> DataFrame:
    """A session goes on as long as the next row comes within the gap."""
    columns = frame.columns
    keys = f"PARTITION BY {', '.join(map(column, window.partition))} " if window.partition else ""
    gap = f"INTERVAL '{window.size / 1000}' SECOND"
    before = f"lag({wall}) OVER ({keys}ORDER BY {wall})"
    marked = frame.selectExpr(
        "*", f"CASE WHEN {wall} <= {before} + {gap} THEN 0 ELSE 1 END AS begins"
    )
    numbered = marked.selectExpr("*", f"sum(begins) OVER ({keys}ORDER BY {wall} "
                                      "ROWS UNBOUNDED PRECEDING) AS session")  # fmt: skip
    parts = f"PARTITION BY {', '.join([*map(column, window.partition), 'session'])}"
    return numbered.selectExpr(
        *columns, f"min({wall}) OVER ({parts}) AS {_START}",
        f"max({wall}) OVER ({parts}) + {gap} AS {_END}",
    )  # fmt: skip


def window_aggregate(frames: Frames, relation: WindowAggregate) -> DataFrame:
    """Groups by key and window. Columns: keys, calls, then the window's properties."""
    frame = frames.frame(relation.input)
    width = len(relation.input.schema)
    if relation.window is None:
        assert relation.window_columns is not None
        start, end = relation.window_columns
        time = None
    else:
        assert relation.time is not None
        time = relation.input.types[relation.time]
        if is_proctime(time):
            raise NotNative("windows of processing time")
        window = relation.window
        made = _windowed(frame, window, relation.time, width)
        frame = made.withColumnsRenamed({_START: column(width), _END: column(width + 1)})
        start, end = width, width + 1
    return _grouped_by_window(frames, frame, relation, (start, end), time)


def _grouped_by_window(
    frames: Frames,
    frame: DataFrame,
    relation: WindowAggregate,
    window: tuple[int, int],
    time: object,
) -> DataFrame:
    keys, calls = relation.keys, relation.calls
    own = tuple(at for at in window if at not in keys)
    sets = relation.grouping_sets
    if sets is not None:
        extra = tuple(range(len(keys), len(keys) + len(own)))
        sets = tuple(chosen + extra for chosen in sets)
    made = grouped(frames, frame, keys + own, calls, sets)
    every = keys + own
    shift = len(own)
    texts = [f"{column(at)} AS {column(at)}" for at in range(len(keys))]
    texts += [
        f"{column(len(keys) + shift + at)} AS {column(len(keys) + at)}" for at in range(len(calls))
    ]
    start, end = (column(every.index(at)) for at in window)
    end_time = f"{end} - {_MILLISECOND}"
    if isinstance(time, LocalZonedTimestampType):
        end_time = f"CAST({end_time} AS TIMESTAMP)"
    properties = {_START: start, _END: end, "window_time": end_time}
    for at, name in enumerate(relation.properties):
        texts.append(f"{properties[name]} AS {column(len(keys) + len(calls) + at)}")
    return made.selectExpr(*texts)
