"""The benchmarks: what each runs, on which engines, and the target its figures must reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench import data
from bench.engines import Engine, Run, headrace, pyflink, run, spark
from bench.figures import Bar, Check, Outcome, at_most, ratio
from bench.idle import idle
from bench.jdbc import jdbc
from bench.kafka import kafka
from bench.latency import latency
from bench.measure import START_UP_RECORDS, Case, Progress, Timing, net_timings, whole_runs
from bench.pattern_suite import match_recognize, patterns_growth
from bench.recovery import recovery
from bench.soak import soak
from bench.sql_suite import nexmark, nexmark_growth, single, sql_udf
from bench.start_up import start_up
from bench.state_costs import checkpoints, savepoints

MILLION = 1_000_000
FEW_KEYS = 10_000
ROWS_PER_BATCH = 500_000
# Enough for a file to be read by both tasks, so that both have their worker before it counts.
START_UP_STREAM = 100_000
WINDOW_STREAM = 4 * MILLION
# PyFlink's keyed state is too slow for a million records in each of three runs.
SLOW_PEER_RECORDS = 200_000
GIB = 2**30
PYFLINK_DEFAULT_MODE = "process"
# A record of each of 10k users every second: a sliding window has something new each time.
SPAN_MS = 100_000
SESSION_KEYS = 100_000
# Few, or the many windows of the start-up input would be taken off the large one's time.
START_UP_KEYS = 10


@dataclass(frozen=True, slots=True)
class Setting:
    """How to run: how often each case repeats, without its peers or with, and who is told.

    The last two are those of `soak`: how long, and how long between two kills.
    """

    repeats: int
    with_peers: bool
    progress: Progress
    minutes: float = 120
    kill_every: float = 10


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One entry of the list that `python -m bench` shows."""

    name: str
    summary: str
    run: Callable[[Setting], Outcome]
    of_all: bool = True
    """Whether `all` has it."""


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
        engines = [headrace(stream=True), headrace(stream=True, real_time=True)]
        cases = [stream_case(each, "jobs/keyed_count.py", MILLION, keys) for each in engines]
        if setting.with_peers:
            cases.append(stream_case(spark(), "peers/spark_group_count.py", MILLION, keys))
        in_batches, flowing, *peers = net_timings(cases, setting.repeats, setting.progress)
        best = max(in_batches.records_per_second, flowing.records_per_second)
        checks = [
            ratio("headrace's better mode / Spark JVM", best / p.records_per_second, target)
            for p in peers
        ]
        return rates(name, [in_batches, flowing, *peers], checks)

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
        at_most(
            f"{kind}: cost per record, 10M over 1M",
            short.records_per_second / long.records_per_second,
            1.25,
        )
        for kind, short, long in pairs
    ]
    return rates("flatness", timings, checks)


def memory(setting: Setting) -> Outcome:
    """The whole process tree at its largest: 1M keys, each with a value of 100 bytes."""
    files = data.cards_in_files(MILLION, MILLION, ROWS_PER_BATCH)
    inputs = (
        (headrace(), data.cards(MILLION, MILLION)),
        (headrace(stream=True), files),
        (headrace(stream=True, real_time=True), files),
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
        checks.append(at_most(f"{name}: process tree", used, 3, "GiB"))
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
        at_most("headrace / PyFlink as it comes, wall clock", bars[0].value / peer.value, 1)
        for peer in bars[1:2]
    ]
    return Outcome(benchmark="word_count", bars=tuple(bars), checks=tuple(checks))


def window_tumbling(setting: Setting) -> Outcome:
    """Sum and count in Python by user and 10 s, against PyFlink; as a stream, against Spark."""
    script = "jobs/window_tumbling.py"
    cases = [
        window_case(headrace(), script, MILLION),
        window_stream_case(headrace(stream=True), script),
        window_stream_case(headrace(stream=True, real_time=True), script),
    ]
    if setting.with_peers:
        cases += [
            window_case(pyflink("thread"), script, SLOW_PEER_RECORDS),
            window_stream_case(spark(), "peers/spark_window_sum.py"),
        ]
    timings = net_timings(cases, setting.repeats, setting.progress)
    batch, in_batches, flowing, *peers = (timing.records_per_second for timing in timings)
    checks = []
    if peers:
        theirs, sparks = peers
        checks = [
            ratio("headrace / PyFlink thread mode", batch / theirs, 15),
            ratio(
                "headrace's better stream mode / Spark JVM", max(in_batches, flowing) / sparks, 2
            ),
        ]
    return rates("window_tumbling", timings, checks)


def window_cost(name: str, script: str, keys: int, target: float) -> Callable[[Setting], Outcome]:
    """What other windows cost, over what tumbling ones cost on the same input."""

    def measure(setting: Setting) -> Outcome:
        cases = [
            window_case(headrace(), which, MILLION, keys)
            for which in ("jobs/window_tumbling.py", script)
        ]
        labels = ("headrace, tumbling", f"headrace, {name.removeprefix('window_')}")
        named = [replace(c, label=label) for c, label in zip(cases, labels, strict=True)]
        tumbling, other = net_timings(named, setting.repeats, setting.progress)
        cost = tumbling.records_per_second / other.records_per_second
        return rates(name, [tumbling, other], [at_most("cost over tumbling", cost, target)])

    return measure


def window_timers(setting: Setting) -> Outcome:
    """A million open timers in one process: firing them over registering them."""
    runs = []
    for turn in range(setting.repeats):
        setting.progress(f"run {turn + 1} of {setting.repeats}")
        runs.append(run(headrace(), "jobs/window_timers.py", ["--timers", str(MILLION)]))
    registering = [each.start_up_seconds for each in runs]
    firing = [each.execute_seconds for each in runs]
    bars = tuple(
        Bar(
            name=f"headrace, {step}",
            value=statistics.median(seconds),
            unit="s",
            records=MILLION,
            spread=(min(seconds), max(seconds)),
        )
        for step, seconds in (("registering", registering), ("firing", firing))
    )
    cost = at_most("firing over registering", bars[1].value / bars[0].value, 3)
    return Outcome(benchmark="window_timers", bars=bars, checks=(cost,))


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
        tiny=data.cards_in_files(START_UP_STREAM, keys, ROWS_PER_BATCH),
        records=records,
        tiny_records=START_UP_STREAM,
    )


def window_case(engine: Engine, script: str, records: int, keys: int = FEW_KEYS) -> Case:
    """A case that reads one CSV file of records with an event time; always at the same rate."""
    span = SPAN_MS * records // MILLION
    return Case(
        engine=engine,
        script=script,
        input=data.readings(records, keys, span),
        tiny=data.readings(START_UP_RECORDS, START_UP_KEYS, SPAN_MS),
        records=records,
    )


def window_stream_case(engine: Engine, script: str) -> Case:
    """The same as a stream of a directory, one file a micro-batch; long enough that what is left
    of starting does not matter."""

    def directory(records: int, keys: int) -> Path:
        span = max(SPAN_MS, SPAN_MS * records // MILLION)
        return data.readings_in_files(records, keys, span, ROWS_PER_BATCH)

    return Case(
        engine=engine,
        script=script,
        input=directory(WINDOW_STREAM, FEW_KEYS),
        tiny=directory(START_UP_STREAM, START_UP_KEYS),
        records=WINDOW_STREAM,
        tiny_records=START_UP_STREAM,
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


def with_peers(
    measure: Callable[[int, bool, Progress], Outcome],
) -> Callable[[Setting], Outcome]:
    """A benchmark of another module as one of this list."""
    return lambda setting: measure(setting.repeats, setting.with_peers, setting.progress)


BENCHMARKS = (
    Benchmark("stateless", "parse + filter + map in Python, against PyFlink", stateless),
    Benchmark("keyed_pyflink", "ValueState counter, 10k keys, against PyFlink", keyed_pyflink),
    Benchmark(
        "keyed_spark_10k",
        "ValueState counter as a stream, 10k keys, against Spark's groupBy().count()",
        keyed_spark("keyed_spark_10k", FEW_KEYS, 1.5),
    ),
    Benchmark(
        "keyed_spark_1m",
        "ValueState counter as a stream, 1M keys, against Spark's groupBy().count()",
        keyed_spark("keyed_spark_1m", MILLION, 3.0),
    ),
    Benchmark("flatness", "cost per record from 1M to 10M records, 10k keys", flatness),
    Benchmark("memory", "process tree at 1M keys with 100-byte values", memory),
    Benchmark("word_count", "word count of 1k lines from cold, against PyFlink", word_count),
    Benchmark(
        "window_tumbling",
        "sum and count by user and 10 s of event time, against PyFlink and Spark",
        window_tumbling,
    ),
    Benchmark(
        "window_sliding",
        "the same by windows of 60 s every 1 s, against tumbling ones",
        window_cost("window_sliding", "jobs/window_sliding.py", FEW_KEYS, 3),
    ),
    Benchmark(
        "window_session",
        "the same by sessions, 100k users, against tumbling windows",
        window_cost("window_session", "jobs/window_session.py", SESSION_KEYS, 2),
    ),
    Benchmark("window_timers", "firing a million timers over registering them", window_timers),
    Benchmark(
        "latency",
        "from a record's creation to the last operator, in real time, in micro-batches, on PyFlink",
        with_peers(latency),
    ),
    Benchmark(
        "idle",
        "CPU time of a job that has nothing to read",
        lambda setting: idle(setting.repeats, setting.progress),
    ),
    Benchmark(
        "kafka",
        "Kafka to Kafka against PyFlink and Flink SQL; reading alone against a bare consumer",
        with_peers(kafka),
    ),
    Benchmark(
        "start_up",
        "until 25 tasks work; a stream's first result from cold",
        lambda setting: start_up(setting.repeats, setting.progress),
    ),
    Benchmark(
        "jdbc",
        "upserts into PostgreSQL against a bare executemany; a lookup join with 90 % hits",
        lambda setting: jdbc(setting.repeats, setting.progress),
    ),
    Benchmark(
        "recovery",
        "first new result after SIGKILL, against a cold start",
        lambda setting: recovery(setting.repeats, setting.progress),
    ),
    Benchmark(
        "checkpoints",
        "a keyed counter checkpointed every second, against every 30 s; bytes of a checkpoint",
        lambda setting: checkpoints(setting.repeats, setting.progress),
    ),
    Benchmark(
        "savepoints",
        "saving and restoring 5M keys, against Spark writing them as Parquet",
        lambda setting: savepoints(setting.repeats, setting.progress),
    ),
    Benchmark(
        "nexmark", "the Nexmark queries over 2M events, against Flink SQL", with_peers(nexmark)
    ),
    Benchmark(
        "nexmark_growth",
        "cost per event of Nexmark queries with bounded state, from 1M to 4M events",
        with_peers(nexmark_growth),
    ),
    Benchmark(
        "sql_window",
        "SUM and COUNT by name and 10 s of event time in SQL, 5M rows, against Flink SQL",
        with_peers(single("sql_window", "window")),
    ),
    Benchmark(
        "sql_group",
        "SUM and COUNT by name in SQL, 5M rows, against Flink SQL",
        with_peers(single("sql_group", "group")),
    ),
    Benchmark(
        "sql_udf",
        "a scalar function in Python in SQL, against PyFlink's two modes",
        with_peers(sql_udf),
    ),
    Benchmark(
        "match_recognize",
        "falling then rising prices of 1k symbols in SQL, 500k rows, against Flink SQL",
        with_peers(match_recognize),
    ),
    Benchmark(
        "patterns_growth",
        "cost per event and memory of a pattern in Python as the stream gets longer",
        with_peers(patterns_growth),
    ),
    Benchmark(
        "soak",
        "hours under load with kills: exact output, flat memory and files; not one of `all`",
        lambda setting: soak(setting.minutes, setting.kill_every),
        of_all=False,
    ),
)
