"""The fraud detector from topic to topic, with workers that die on the way."""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from headrace.cli.demo.kafka_feed import Feed
from headrace.cli.demo.kafka_job import (
    ALERTS,
    GROUP,
    LATE,
    PARALLELISM,
    PAYMENTS,
    kill_a_worker,
    start_detector,
)
from headrace.cli.demo.kafka_proof import prove
from headrace.cli.demo.keys import pressed_key, single_keys
from headrace.cli.demo.screen import (
    SHOWN,
    alert_line,
    alert_panel,
    milliseconds_of,
    progress_bar,
)
from headrace.connectors.kafka.client import kafka
from headrace.errors import JobFailed, SourceUnavailable
from headrace.examples.fraud_detection import START
from headrace.jobs.client import JobClient
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics

__all__ = ["run_on_kafka"]

_ROOM = 500_000_000
_PATIENCE_S = 180.0
_CLEARED_WITHIN_S = 10.0
_REMEMBERED = 500


def run_on_kafka(console: Console, seconds: float, rate: float, kills: int) -> bool:
    """Show the detector for a while, then count; whether nothing is lost or doubled."""
    with _ended_by_signals(), _scratch_folder() as folder:
        with console.status("Starting a Kafka broker …"):
            broker = _start_broker(folder)
        try:
            return _show_and_count(
                console, _Run(broker.bootstrap_servers, folder, seconds, rate, kills)
            )
        finally:
            broker.stop()


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """What ends the program lets it clear away first."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {each: signal.signal(each, end) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    room = shutil.disk_usage(tempfile.gettempdir()).free
    if room < _ROOM:
        raise SourceUnavailable(
            f"the broker needs {_ROOM // 1_000_000} MB in {tempfile.gettempdir()}, and there are "
            f"{room // 1_000_000} MB",
            hint="TMPDIR names another folder.",
        )
    folder = Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    try:
        yield folder
    finally:
        # A worker that is killed with the job may still write meanwhile.
        deadline = time.monotonic() + _CLEARED_WITHIN_S
        while folder.exists() and time.monotonic() < deadline:
            shutil.rmtree(folder, ignore_errors=True)


def _start_broker(folder: Path) -> KafkaBroker:
    place = folder / "broker"
    place.mkdir()
    broker = KafkaBroker(place)
    try:
        broker.start()
    except BaseException:
        broker.stop()
        raise
    return broker


class _Run:
    """What happens, as the screen shows it."""

    def __init__(self, servers: str, folder: Path, seconds: float, rate: float, kills: int):
        self.servers, self.folder = servers, folder
        self.seconds, self.rate, self.wanted_kills = seconds, rate, kills
        self.topics = Topics(servers)
        self.topics.create_named(PAYMENTS, PARALLELISM)
        for topic in (ALERTS, LATE):
            self.topics.create_named(topic)
        self.feed = Feed(servers, rate)
        self.job: JobClient | None = None
        self.kills = self.counted_alerts = self.counted_late = 0
        self.recent: deque[Any] = deque(maxlen=SHOWN)
        self.delays: deque[float] = deque(maxlen=_REMEMBERED)
        self.says = ""
        self._began = 0.0
        self._going_from = 0
        """How many checkpoints there must be before the job has got over the last kill."""

    # The job.

    def start(self) -> None:
        """Returns when the job knows what time it is, and has that in a checkpoint."""
        self.job = start_detector(self.servers, self.folder)
        self.feed.start()
        job = self.job
        self._wait_until(lambda: any(each.watermark >= START for each in job.get_watermarks()))
        after = self.checkpoints + 2
        self._wait_until(lambda: self.checkpoints >= after)
        self.feed.open()
        self._began = time.monotonic()

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not holds():
            self.check()
            if time.monotonic() > deadline:
                raise JobFailed(f"the job does not come on: {self.last_failure or 'no failure'}")
            time.sleep(0.05)

    def check(self) -> None:
        """Raise what has ended the job."""
        assert self.job is not None
        done = self.job.get_job_execution_result()
        if done.done():
            done.result()
            raise JobFailed("the job has ended by itself")

    @property
    def checkpoints(self) -> int:
        assert self.job is not None
        return self.job.get_checkpoints().counts().completed

    @property
    def restarts(self) -> int:
        return 0 if self.job is None else self.job.get_checkpoints().counts().restored

    @property
    def last_failure(self) -> str:
        failures = [] if self.job is None else self.job.get_exceptions()
        return failures[0].message if failures else ""

    @property
    def is_going(self) -> bool:
        """Whether the job has got over the last kill."""
        return self.checkpoints >= self._going_from

    def kill(self) -> None:
        """Kill a worker, unless the job is busy with the last one."""
        if not self.is_going:
            self.says = "[yellow]the job is still coming back, wait a moment[/]"
            return
        # One that was under way may still be completed without the worker.
        self._going_from = self.checkpoints + 2
        process = kill_a_worker(self.folder)
        if process is not None:
            self.kills += 1
            self.says = f"[bold magenta]worker {process} was killed with SIGKILL[/]"

    def finish(self) -> None:
        """No more payments: wait until all are judged and the results are there."""
        self.feed.stop()
        ends = self.topics.ends(PAYMENTS)
        self._wait_until(lambda: self.topics.group_offsets(GROUP, PAYMENTS) == ends)
        # What they led to was prepared with the same checkpoint, and is committed, or still open.
        for topic in (ALERTS, LATE):
            self._wait_until(partial(self._is_committed, topic))

    def _is_committed(self, topic: str) -> bool:
        return not self.topics.has_open_transactions(topic)

    def abandon(self) -> None:
        """Leave nothing running, whatever has happened."""
        with suppress(Exception):
            self.feed.stop()
        if self.job is not None:
            with suppress(Exception):
                self.job.cancel().result(_PATIENCE_S)

    # What is seen.

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    @property
    def is_over(self) -> bool:
        return self.elapsed >= self.seconds and self.kills >= self.wanted_kills and self.is_going

    @property
    def kill_is_due(self) -> bool:
        """Kills that were asked for are dealt out evenly over the time."""
        share = self.seconds * (self.kills + 1) / (self.wanted_kills + 1)
        return self.kills < self.wanted_kills and self.is_going and self.elapsed >= share

    def add(self, topic: str, result: dict[str, Any]) -> None:
        if topic == LATE:
            self.counted_late += 1
            return
        self.counted_alerts += 1
        self.recent.appendleft(tuple(result.values()))
        self.delays.append(self.feed.age_of(result["time"]) * 1000)

    def screen(self) -> Group:
        counts = (
            f"topic payments: {self.feed.sent:,} records, {self.rate:,.0f} per second   "
            f"topic alerts: [bold red]{self.counted_alerts}[/]   "
            f"topic late-payments: [yellow]{self.counted_late}[/]"
        )
        state = "[green]running[/]" if self.is_going else "[magenta]coming back[/]"
        job = (
            f"job: {state}, {self.checkpoints} checkpoints   "
            f"[magenta]{self.kills} workers killed, {self.restarts} recoveries[/]   {self.says}"
        )
        delays = f"from a payment to its committed alert: {milliseconds_of(self.delays)}"
        help = "[bold]k[/] kills a worker process   [bold]q[/] ends the demo and counts"
        bar = progress_bar(self.elapsed, self.seconds)
        return Group(alert_panel(self.recent), counts, job, delays, help, bar)


def _show_and_count(console: Console, run: _Run) -> bool:
    try:
        with console.status("Starting Spark and the job …"):
            run.start()
        with _alerts_reader(run.servers) as reader:
            if console.is_terminal:
                _show_live(console, run, reader)
            else:
                _print_plainly(console, run, reader)
        with console.status("No more payments; the job judges the rest …"):
            run.finish()
            proof = prove(run.topics, run.kills, run.restarts)
    finally:
        run.abandon()
    console.print(proof.page())
    console.print(proof.summary(), style="bold green" if proof.holds else "bold red")
    return proof.holds


def _show_live(console: Console, run: _Run, reader: Any) -> None:
    with single_keys(), Live(console=console, refresh_per_second=4) as live:
        for _ in _watch(run, reader):
            live.update(run.screen())


def _print_plainly(console: Console, run: _Run, reader: Any) -> None:
    for topic, result in _watch(run, reader):
        if topic == ALERTS:
            console.out(alert_line(tuple(result.values())), highlight=False)


def _watch(run: _Run, reader: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each result as somebody else reads it, or ("", {}) if there is none; does what keys ask."""
    while not run.is_over:
        run.check()
        if run.elapsed > run.seconds + _PATIENCE_S:
            raise JobFailed(f"the job does not come back: {run.last_failure}")
        key = pressed_key()
        if key == "q":
            return
        if key == "k" or run.kill_is_due:
            run.kill()
        yield "", {}
        for message in reader.consume(100, 0.1):
            if message.error() is None:
                result = json.loads(message.value())
                run.add(message.topic(), result)
                yield message.topic(), result


@contextmanager
def _alerts_reader(servers: str) -> Iterator[Any]:
    reader = kafka().Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "screen",
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    reader.subscribe([ALERTS, LATE])
    try:
        yield reader
    finally:
        reader.close()
