"""`headrace demo`: a fraud detector on generated payments, live in the terminal."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.examples.fraud_detection import MILLISECONDS_APART, detect, payments

_SHOWN = 12
_PULSE = "pulse"
_PULSES_PER_SECOND = 50
_REMEMBERED = 500
"""Delays that are looked at: those of the last ten seconds."""


def demo(
    seconds: Annotated[float, typer.Option(help="How long to run.", min=1)] = 20,
    rate: Annotated[float, typer.Option(help="Payments per second.", min=1)] = 5000,
) -> None:
    """Find card fraud in a live stream of generated payments, on local Spark."""
    console = Console()
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
                if result[0] != _PULSE:
                    _print_plainly(result)
    console.print(
        f"{seen.alerts} alerts and {seen.late} late payments in {time.monotonic() - started:.0f} s;"
        " nothing was dropped."
    )
    console.print(f"Payments were judged and here within {seen.latency()} of their making.")


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
    recent: deque[Any] = field(default_factory=lambda: deque(maxlen=_SHOWN))

    def add(self, result: Any) -> None:
        kind, what = result
        if kind == "alert":
            self.alerts += 1
            self.recent.appendleft(what)
        elif kind == _PULSE:
            self.delays.append((time.time() - what) * 1000)
        else:
            self.late += 1

    def latency(self) -> str:
        """How long payments take from their making to this program."""
        if not self.delays:
            return "…"
        delays = sorted(self.delays)
        half, most = delays[len(delays) // 2], delays[len(delays) * 99 // 100]
        return f"{half:.0f} ms (half of them) and {most:.0f} ms (99 of 100)"

    def screen(self, elapsed: float) -> Group:
        table = Table("card", "time", "amount", "after the tiny payment", expand=True)
        for card, at, amount, after in self.recent:
            table.add_row(
                f"{card:05d}", _clock(at), f"{amount:10.2f}", f"{after / 1000:.1f} s", style="red"
            )
        progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=None), expand=True
        )
        progress.add_task(
            f"{min(elapsed, self.seconds):4.0f} of {self.seconds:.0f} s",
            total=self.seconds,
            completed=int(elapsed),
        )
        counts = (
            f"{self.rate:,.0f} payments per second   "
            f"[bold red]{self.alerts} alerts[/]   [yellow]{self.late} late payments kept[/]"
        )
        latency = f"from their making to this screen: {self.latency()}"
        return Group(Panel(table, title="card fraud"), counts, latency, progress)


def _print_plainly(result: Any) -> None:
    kind, what = result
    if kind == "alert":
        card, at, amount, after = what
        line = f"ALERT card {card:05d} at {_clock(at)}: {amount:.2f} after {after / 1000:.1f} s"
    else:
        line = f"late  card {what.card:05d} at {_clock(what.time)}: {what.amount:.2f}"
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _clock(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%H:%M:%S")
