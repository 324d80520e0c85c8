"""The benchmarks of patterns: MATCH_RECOGNIZE against Flink SQL, and growth with the stream."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path

from bench import data
from bench.engines import headrace, pyflink, run
from bench.figures import Bar, Check, Outcome, at_most, ratio
from bench.measure import START_UP_RECORDS, Case, Progress, Timing, net_timings

MILLION = 1_000_000
PRICES = 500_000
SYMBOLS = 1_000
PRICE_SPAN_MS = 500_000
KEYS = 10_000
START_UP_KEYS = 10
START_UP_STREAM = 100_000
# A record of each of 10k keys every second, in files of half a million.
SPAN_MS_OF_MILLION = 100_000
ROWS_PER_BATCH = 500_000
SHORT, LONG = 100_000, 4 * MILLION
STEPS = "jobs/pattern_steps.py"
GROWTH_MARK = "BENCH-GROWTH "
MIB = 2**20
GROWTH = 1.25


def match_recognize(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """A falling, then rising price in SQL; the same text on Flink."""
    engines = [headrace(), *([pyflink("process")] if with_peers else [])]
    cases = [
        Case(
            engine=engine,
            script="jobs/sql_query.py",
            input=data.prices(PRICES, SYMBOLS, PRICE_SPAN_MS),
            tiny=data.prices(START_UP_RECORDS, SYMBOLS, PRICE_SPAN_MS),
            records=PRICES,
            arguments=("match",),
        )
        for engine in engines
    ]
    if with_peers:
        cases[1] = replace(cases[1], label="Flink SQL")
    ours, *peers = net_timings(cases, repeats, progress)
    checks = [
        ratio("headrace / Flink SQL", ours.records_per_second / peer.records_per_second, 1.0)
        for peer in peers
    ]
    bars = tuple(map(_rate, [ours, *peers]))
    return Outcome(benchmark="match_recognize", bars=bars, checks=tuple(checks))


def patterns_growth(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """Three steps within ten seconds: what an event costs, and how much is kept, as more come."""
    cases = [_steps(MILLION), _steps(LONG)]
    short, long = net_timings(cases, repeats, progress)
    on_spark = at_most(
        "stream: cost per event, 4M over 1M",
        short.records_per_second / long.records_per_second,
        GROWTH,
    )
    bars, in_process = _in_process(repeats, progress)
    # Workers reach their size in the first three or four micro-batches of half a million.
    peaks = [_peak(case, progress) for case in (_steps(2 * MILLION), _steps(LONG))]
    memory = at_most("stream: memory, 4M over 2M", peaks[1].value / peaks[0].value, GROWTH)
    return Outcome(
        benchmark="patterns_growth",
        bars=(_rate(short), _rate(long), *bars, *peaks),
        checks=(on_spark, *in_process, memory),
    )


def _steps(records: int) -> Case:
    """The pattern as a stream of a directory, one file a micro-batch."""

    def directory(count: int, keys: int) -> Path:
        span = SPAN_MS_OF_MILLION * count // MILLION
        return data.readings_in_files(count, keys, span, ROWS_PER_BATCH)

    return Case(
        engine=headrace(stream=True),
        script=STEPS,
        input=directory(records, KEYS),
        tiny=directory(START_UP_STREAM, START_UP_KEYS),
        records=records,
        tiny_records=START_UP_STREAM,
        label=f"headrace stream, {records // MILLION}M",
    )


def _in_process(repeats: int, progress: Progress) -> tuple[list[Bar], list[Check]]:
    """The pattern operator alone: what an event costs, and for how many keys something is kept."""
    found: dict[int, list[dict[str, float]]] = {SHORT: [], LONG: []}
    for turn in range(repeats):
        for events, figures in found.items():
            progress(f"in process, {events:,} events, run {turn + 1} of {repeats}")
            output = run(headrace(), "micro/patterns.py", ["--figures", str(events)]).output
            (line,) = (each for each in output.splitlines() if each.startswith(GROWTH_MARK))
            figures.append(json.loads(line.removeprefix(GROWTH_MARK)))
    bars = [_cost(events, figures) for events, figures in found.items()]
    short, long = (figures[0] for figures in found.values())
    return bars, [
        at_most("in process: cost per event, 4M over 100k", bars[1].value / bars[0].value, GROWTH),
        at_most(
            "in process: keys kept, 4M over 100k", long["keys_kept"] / short["keys_kept"], GROWTH
        ),
        at_most(
            "in process: peak memory, 4M over 100k", long["peak_mib"] / short["peak_mib"], GROWTH
        ),
    ]


def _cost(events: int, figures: list[dict[str, float]]) -> Bar:
    costs = [each["microseconds"] for each in figures]
    return Bar(
        name=f"in process, {events:,}",
        value=statistics.median(costs),
        unit="µs/event",
        records=events,
        spread=(min(costs), max(costs)),
        note=f"{figures[0]['keys_kept']:.0f} keys kept, {figures[0]['peak_mib']:.0f} MiB at most",
    )


def _peak(case: Case, progress: Progress) -> Bar:
    progress(f"memory, {case.records:,} records")
    used = run(case.engine, case.script, ["--input", str(case.input)], watch_memory=True).memory
    return Bar(
        name=f"process tree, {case.records // MILLION}M",
        value=used.used / MIB,
        unit="MiB",
        records=case.records,
    )


def _rate(timing: Timing) -> Bar:
    return Bar(
        name=timing.name,
        value=timing.records_per_second,
        unit="records/s",
        records=timing.records,
        spread=timing.rate_spread,
        note=f"{timing.net_seconds:.1f} s net of {timing.start_up_seconds:.1f} s start-up",
    )
