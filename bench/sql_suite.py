"""The benchmarks of SQL: Nexmark and single queries, against Flink SQL."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from bench import data
from bench.engines import Engine, headrace, pyflink, run
from bench.figures import Bar, Check, Outcome, at_most, ratio
from bench.measure import START_UP_RECORDS, Case, Progress, Timing, net_timings
from bench.nexmark.events import events
from bench.nexmark.queries import NAMES

MILLION = 1_000_000
EVENTS = 2 * MILLION
WARM_UP_EVENTS = 100_000
QUERY_MARK = "BENCH-QUERY "
# Queries whose state does not grow with the events: they pass rows on, or close windows.
BOUNDED = ("q0", "q1", "q2", "q5", "q7", "q8", "q10", "q11", "q12", "q14", "q21", "q22")
ROWS = 5 * MILLION
# PyFlink's process mode takes a minute for the rows that headrace gets.
UDF_PEER_ROWS = MILLION
KEYS = 10_000
SPAN_MS = 500_000
Seconds = Mapping[str, list[float]]


def nexmark(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """All queries on both engines, taking turns; each engine's are one process."""
    engines = [headrace(), *([pyflink("process")] if with_peers else [])]
    for engine in engines:
        engine.check()
    found: list[dict[str, list[float]]] = [{} for _ in engines]
    for turn in range(repeats):
        for number, engine in enumerate(engines):
            progress(f"{engine.name}, run {turn + 1} of {repeats}")
            for query, seconds in timed(engine, NAMES, EVENTS).items():
                found[number].setdefault(query, []).append(seconds)
    ours, *peers = found
    bars = [_bar(query, seconds, peers) for query, seconds in ours.items()]
    checks = _nexmark_checks(ours, peers[0]) if peers else []
    return Outcome(benchmark="nexmark", bars=tuple(bars), checks=tuple(checks))


def nexmark_growth(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """Seconds per event at 4M events over those at 1M, where state is bounded."""
    found: dict[int, dict[str, list[float]]] = {MILLION: {}, 4 * MILLION: {}}
    for turn in range(repeats):
        for count, sizes in found.items():
            progress(f"{count // MILLION}M events, run {turn + 1} of {repeats}")
            for query, seconds in timed(headrace(), BOUNDED, count).items():
                sizes.setdefault(query, []).append(seconds)
    costs = {
        count: {query: statistics.median(each) / count for query, each in sizes.items()}
        for count, sizes in found.items()
    }
    small, large = costs.values()
    growth = {query: large[query] / small[query] for query in small}
    bars = tuple(
        Bar(name=f"headrace {query}", value=factor, unit="x", records=4 * MILLION)
        for query, factor in growth.items()
    )
    worst = max(growth, key=lambda query: growth[query])
    check = at_most(f"cost per event, 4M over 1M, {worst}", growth[worst], 1.25)
    return Outcome(benchmark="nexmark_growth", bars=bars, checks=(check,))


def timed(engine: Engine, queries: Sequence[str], count: int) -> dict[str, float]:
    """Seconds of each query that the engine takes, all in one process."""
    arguments = [
        "--input", str(events(count)), "--warm-up", str(events(WARM_UP_EVENTS)),
        "--queries", ",".join(queries),
    ]  # fmt: skip
    output = run(engine, "jobs/nexmark.py", arguments).output
    found = [
        json.loads(line.removeprefix(QUERY_MARK))
        for line in output.splitlines()
        if line.startswith(QUERY_MARK)
    ]
    return {each["query"]: each["seconds"] for each in found if "seconds" in each}


def _bar(query: str, seconds: list[float], peers: Sequence[Seconds]) -> Bar:
    note = ""
    for peer in peers:
        if query in peer:
            theirs = statistics.median(peer[query])
            note = f"Flink {theirs:.1f} s, ratio {statistics.median(seconds) / theirs:.2f}"
        else:
            note = "Flink refuses it"
    return Bar(
        name=f"headrace {query}", value=statistics.median(seconds), unit="s", records=EVENTS,
        spread=(min(seconds), max(seconds)), note=note,
    )  # fmt: skip


def _nexmark_checks(ours: Seconds, theirs: Seconds) -> list[Check]:
    ratios = {
        query: statistics.median(ours[query]) / statistics.median(theirs[query])
        for query in ours
        if query in theirs
    }
    mean = math.exp(statistics.fmean(math.log(each) for each in ratios.values()))
    worst = max(ratios, key=lambda query: ratios[query])
    return [
        at_most(f"headrace / Flink, geometric mean of {len(ratios)} queries", mean, 1.5),
        at_most(f"headrace / Flink, the worst: {worst}", ratios[worst], 4),
        at_most("queries that only Flink runs", float(len(set(theirs) - set(ours))), 0),
    ]


def single(name: str, query: str) -> Callable[[int, bool, Progress], Outcome]:
    """One query over five million rows, against Flink SQL."""

    def measure(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
        engines = [headrace(), *([pyflink("process")] if with_peers else [])]
        cases = [_case(engine, query, ROWS) for engine in engines]
        if with_peers:
            cases[1] = replace(cases[1], label="Flink SQL")
        ours, *peers = net_timings(cases, repeats, progress)
        checks = [ratio("headrace / Flink SQL", _gain(ours, peer), 1.0) for peer in peers]
        return _outcome(name, [ours, *peers], checks)

    return measure


def sql_udf(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """A scalar function in Python, against PyFlink's two modes."""
    cases = [_case(headrace(), "udf", ROWS)]
    if with_peers:
        cases += [_case(pyflink(mode), "udf", UDF_PEER_ROWS) for mode in ("process", "thread")]
    ours, *peers = net_timings(cases, repeats, progress)
    checks = [ratio(f"headrace / {peer.name}", _gain(ours, peer), 3) for peer in peers]
    return _outcome("sql_udf", [ours, *peers], checks)


def _case(engine: Engine, query: str, rows: int) -> Case:
    return Case(
        engine=engine,
        script="jobs/sql_query.py",
        input=data.readings(rows, KEYS, SPAN_MS * rows // ROWS),
        tiny=data.readings(START_UP_RECORDS, KEYS, SPAN_MS),
        records=rows,
        arguments=(query,),
    )


def _gain(ours: Timing, peer: Timing) -> float:
    return ours.records_per_second / peer.records_per_second


def _outcome(name: str, timings: Sequence[Timing], checks: Sequence[Check]) -> Outcome:
    bars = tuple(
        Bar(
            name=timing.name,
            value=timing.records_per_second,
            unit="records/s",
            records=timing.records,
            spread=timing.rate_spread,
            note=f"{timing.net_seconds:.1f} s net of {timing.start_up_seconds:.1f} s start-up",
        )
        for timing in timings
    )
    return Outcome(benchmark=name, bars=bars, checks=tuple(checks))
