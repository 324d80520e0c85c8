"""The benchmarks: what each runs, on which engines, and the target its figures must reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bench import data
from bench.engines import Engine, Run, headrace, pyflink, run, spark
from bench.figures import Bar, Check, Outcome, ratio
from bench.measure import START_UP_RECORDS, Case, Progress, Timing, net_timings, whole_runs

MILLION = 1_000_000
FEW_KEYS = 10_000
ROWS_PER_BATCH = 500_000
# PyFlink's keyed state is too slow for a million records in each of three runs.
SLOW_PEER_RECORDS = 200_000
GIB = 2**30
PYFLINK_DEFAULT_MODE = "process"


@dataclass(frozen=True, slots=True)
class Setting:
    """How to run: how often each case repeats, without its peers or with, and who is told."""

    repeats: int
    with_peers: bool
    progress: Progress


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One entry of the list that `python -m bench` shows."""

    name: str
    summary: str
    run: Callable[[Setting], Outcome]


def stateless(setting: Setting) -> Outcome:
    """Parse, filter and map in Python, against PyFlink's best mode."""
    engines = [headrace()]
    if setting.with_peers:
        engines += [pyflink("process"), pyflink("thread")]
    cases = [file_case(engine, "jobs/stateless.py", MILLION, FEW_KEYS) for engine in engines]
    ours, *peers = net_timings(cases, setting.repeats, setting.progress)
    best = max((peer.records_per_second for peer in peers), default=None)
    checks = (
        []
        if best is None
        else [ratio("headrace / PyFlink's best mode", ours.records_per_second / best, 8)]
    )
    return rates("stateless", [ours, *peers], checks)


def keyed_pyflink(setting: Setting) -> Outcome:
    """A counter in ValueState at 10k keys, against PyFlink's thread mode."""
    cases = [file_case(headrace(), "jobs/keyed_count.py", MILLION, FEW_KEYS)]
    if setting.with_peers:
        cases.append(
            file_case(pyflink("thread"), "jobs/keyed_count.py", SLOW_PEER_RECORDS, FEW_KEYS)
        )
    ours, *peers = net_timings(cases, setting.repeats, setting.progress)
    checks = [
        ratio("headrace / PyFlink thread mode", ours.records_per_second / p.records_per_second, 20)
        for p in peers
    ]
    return rates("keyed_pyflink", [ours, *peers], checks)


def keyed_spark(name: str, keys: int, target: float) -> Callable[[Setting], Outcome]:
    """A counter in ValueState as a stream, against Spark's own count by key."""

    def measure(setting: Setting) -> Outcome:
        cases = [stream_case(headrace(stream=True), "jobs/keyed_count.py", MILLION, keys)]
        if setting.with_peers:
            cases.append(stream_case(spark(), "peers/spark_group_count.py", MILLION, keys))
        ours, *peers = net_timings(cases, setting.repeats, setting.progress)
        checks = [
            ratio("headrace / Spark JVM", ours.records_per_second / p.records_per_second, target)
            for p in peers
        ]
        return rates(name, [ours, *peers], checks)

    return measure


def flatness(setting: Setting) -> Outcome:
    """Cost per record at 10M records over that at 1M, as a batch and as a stream."""
    script = "jobs/keyed_count.py"
    cases = [
        file_case(headrace(), script, MILLION, FEW_KEYS),
        file_case(headrace(), script, 10 * MILLION, FEW_KEYS),
        stream_case(headrace(stream=True), script, MILLION, FEW_KEYS),
        stream_case(headrace(stream=True), script, 10 * MILLION, FEW_KEYS),
    ]
    named = [replace(c, label=f"{c.engine.name}, {c.records // MILLION}M") for c in cases]
    timings = net_timings(named, setting.repeats, setting.progress)
    pairs = zip(("batch", "stream"), timings[::2], timings[1::2], strict=True)
    checks = [
        Check(
            name=f"{kind}: cost per record, 10M over 1M",
            value=short.records_per_second / long.records_per_second,
            unit="x",
            bound="at most",
            target=1.25,
        )
        for kind, short, long in pairs
    ]
    return rates("flatness", timings, checks)


def memory(setting: Setting) -> Outcome:
    """The whole process tree at its largest: 1M keys, each with a value of 100 bytes."""
    inputs = (
        (headrace(), data.cards(MILLION, MILLION)),
        (headrace(stream=True), data.cards_in_files(MILLION, MILLION, ROWS_PER_BATCH)),
    )
    bars, checks = [], []
    for engine, path in inputs:
        setting.progress(engine.name)
        arguments = ["--input", str(path)]
        peak = run(engine, "jobs/keyed_bytes.py", arguments, watch_memory=True).memory
        name = engine.name
        measured = "RSS, shared pages counted again" if peak.pss is None else "PSS"
        note = f"{measured}; RSS {peak.rss / GIB:.2f} GiB"
        used = peak.used / GIB
        bars.append(Bar(name=name, value=used, unit="GiB", records=MILLION, note=note))
        checks.append(
            Check(name=f"{name}: process tree", value=used, unit="GiB", bound="at most", target=3)
        )
    return Outcome(benchmark="memory", bars=tuple(bars), checks=tuple(checks))


def word_count(setting: Setting) -> Outcome:
    """Word count of 1k lines from cold, wall clock of the whole process, against PyFlink."""
    engines = [headrace()]
    if setting.with_peers:
        engines += [pyflink(PYFLINK_DEFAULT_MODE), pyflink("thread")]
    path = data.text(START_UP_RECORDS)
    runs = whole_runs(engines, "jobs/word_count.py", path, setting.repeats, setting.progress)
    bars = [wall_clock(name, found) for name, found in runs.items()]
    checks = [
        Check(
            name="headrace / PyFlink as it comes, wall clock",
            value=bars[0].value / peer.value,
            unit="x",
            bound="at most",
            target=1,
        )
        for peer in bars[1:2]
    ]
    return Outcome(benchmark="word_count", bars=tuple(bars), checks=tuple(checks))


def wall_clock(name: str, runs: Sequence[Run]) -> Bar:
    """The seconds of whole processes as a bar."""
    seconds = [each.wall_seconds for each in runs]
    return Bar(
        name=name,
        value=statistics.median(seconds),
        unit="s",
        records=START_UP_RECORDS,
        spread=(min(seconds), max(seconds)),
    )


def file_case(engine: Engine, script: str, records: int, keys: int) -> Case:
    """A case that reads one CSV file."""
    return Case(
        engine=engine,
        script=script,
        input=data.cards(records, keys),
        tiny=data.cards(START_UP_RECORDS, keys),
        records=records,
    )


def stream_case(engine: Engine, script: str, records: int, keys: int) -> Case:
    """A case that streams a directory, one file a micro-batch."""
    return Case(
        engine=engine,
        script=script,
        input=data.cards_in_files(records, keys, ROWS_PER_BATCH),
        tiny=data.cards_in_files(START_UP_RECORDS, keys, ROWS_PER_BATCH),
        records=records,
    )


def rates(benchmark: str, timings: Sequence[Timing], checks: Sequence[Check]) -> Outcome:
    """An outcome whose bars are records per second."""
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
    return Outcome(benchmark=benchmark, bars=bars, checks=tuple(checks))


BENCHMARKS = (
    Benchmark("stateless", "parse + filter + map in Python, against PyFlink", stateless),
    Benchmark("keyed_pyflink", "ValueState counter, 10k keys, against PyFlink", keyed_pyflink),
    Benchmark(
        "keyed_spark_10k",
        "ValueState counter as a stream, 10k keys, against Spark's groupBy().count()",
        keyed_spark("keyed_spark_10k", FEW_KEYS, 0.7),
    ),
    Benchmark(
        "keyed_spark_1m",
        "ValueState counter as a stream, 1M keys, against Spark's groupBy().count()",
        keyed_spark("keyed_spark_1m", MILLION, 1.0),
    ),
    Benchmark("flatness", "cost per record from 1M to 10M records, 10k keys", flatness),
    Benchmark("memory", "process tree at 1M keys with 100-byte values", memory),
    Benchmark("word_count", "word count of 1k lines from cold, against PyFlink", word_count),
)
