"""The fraud detector on payments that it generates itself."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from headrace.cli.demo.screen import (
    SHOWN,
    alert_line,
    alert_panel,
    late_line,
    milliseconds_of,
    progress_bar,
)
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.examples.fraud_detection import MILLISECONDS_APART, detect, payments

__all__ = ["run_on_generated"]

_PULSE = "pulse"
_PULSES_PER_SECOND = 50
_REMEMBERED = 500
"""Delays that are looked at: those of the last ten seconds."""


def run_on_generated(console: Console, seconds: float, rate: float) -> None:
    """Show the detector for a while."""
    env = StreamExecutionEnvironment.get_execution_environment()
    made = payments(env, rate, None)
    alerts, late = detect(env, made)
    results = alerts.map(lambda alert: ("alert", alert)).union(
        late.map(lambda payment: ("late", payment)), _pulses(made, rate)
    )
    began = time.monotonic()
    with console.status("Starting Spark and the job …"):
        stream: Any = results.execute_and_collect("fraud detection")
        first = next(stream)
    started = time.monotonic()
    console.print(f"First result after {started - began:.1f} s.")
    seen = _Seen(seconds=seconds, rate=rate)
    with stream:
        if console.is_terminal:
            with Live(console=console, refresh_per_second=4) as live:
                for result in _until(stream, first, started + seconds):
                    seen.add(result)
                    live.update(seen.screen(time.monotonic() - started))
        else:
            for result in _until(stream, first, started + seconds):
                seen.add(result)
                _print_plainly(console, result)
    console.print(
        f"{seen.alerts} alerts and {seen.late} late payments in {time.monotonic() - started:.0f} s;"
        " nothing was dropped."
    )
    console.print(
        f"Payments were judged and here within {milliseconds_of(seen.delays)} of their making."
    )


def _pulses(made: DataStream, rate: float) -> DataStream:
    """Some of the payments, by way of a keyed exchange, with the moment at which they were made."""
    every = max(1, round(rate / _PULSES_PER_SECOND)) * MILLISECONDS_APART
    return (
        made.filter(lambda payment: payment.time % every == 0)
        .map(lambda payment: (payment.card, time.time()))
        .key_by(lambda pulse: pulse[0])
        .map(lambda pulse: (_PULSE, pulse[1]))
    )


def _until(stream: Iterator[Any], first: Any, end: float) -> Iterator[Any]:
    yield first
    for result in stream:
        yield result
        if time.monotonic() > end:
            return


@dataclass
class _Seen:
    seconds: float
    rate: float
    alerts: int = 0
    late: int = 0
    delays: deque[float] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    recent: deque[Any] = field(default_factory=lambda: deque(maxlen=SHOWN))

    def add(self, result: Any) -> None:
        kind, what = result
        if kind == "alert":
            self.alerts += 1
            self.recent.appendleft(what)
        elif kind == _PULSE:
            self.delays.append((time.time() - what) * 1000)
        else:
            self.late += 1

    def screen(self, elapsed: float) -> Group:
        counts = (
            f"{self.rate:,.0f} payments per second   "
            f"[bold red]{self.alerts} alerts[/]   [yellow]{self.late} late payments kept[/]"
        )
        latency = f"from their making to this screen: {milliseconds_of(self.delays)}"
        return Group(alert_panel(self.recent), counts, latency, progress_bar(elapsed, self.seconds))


def _print_plainly(console: Console, result: Any) -> None:
    kind, what = result
    if kind != _PULSE:
        console.out(alert_line(what) if kind == "alert" else late_line(what), highlight=False)
