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

from headrace.datastream import StreamExecutionEnvironment
from headrace.examples.fraud_detection import detect, payments

_SHOWN = 12


def demo(
    seconds: Annotated[float, typer.Option(help="How long to run.", min=1)] = 20,
    rate: Annotated[float, typer.Option(help="Payments per second.", min=1)] = 5000,
) -> None:
    """Find card fraud in a live stream of generated payments, on local Spark."""
    console = Console()
    env = StreamExecutionEnvironment.get_execution_environment()
    alerts, late = detect(env, payments(env, rate, None))
    results = alerts.map(lambda alert: ("alert", alert)).union(late.map(lambda p: ("late", p)))
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
                _print_plainly(result)
    console.print(
        f"{seen.alerts} alerts and {seen.late} late payments in {time.monotonic() - started:.0f} s;"
        " nothing was dropped."
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
    recent: deque[Any] = field(default_factory=lambda: deque(maxlen=_SHOWN))

    def add(self, result: Any) -> None:
        kind, what = result
        if kind == "alert":
            self.alerts += 1
            self.recent.appendleft(what)
        else:
            self.late += 1

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
        return Group(Panel(table, title="card fraud"), counts, progress)


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
