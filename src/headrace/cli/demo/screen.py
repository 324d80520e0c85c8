"""What both demos show: alerts, and how far the demo is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.panel import Panel
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

__all__ = ["SHOWN", "alert_line", "alert_panel", "late_line", "milliseconds_of", "progress_bar"]

SHOWN = 12
"""How many alerts there is room for."""


def alert_panel(alerts: Iterable[tuple[int, int, float, int]]) -> Panel:
    """The latest alerts: card, event time, amount, and how long after the tiny payment."""
    table = Table("card", "time", "amount", "after the tiny payment", expand=True)
    for card, at, amount, after in alerts:
        table.add_row(
            f"{card:05d}", _clock(at), f"{amount:10.2f}", f"{after / 1000:.1f} s", style="red"
        )
    return Panel(table, title="card fraud")


def progress_bar(elapsed: float, seconds: float) -> Progress:
    """How much of the demo's time is over."""
    progress = Progress(TextColumn("{task.description}"), BarColumn(bar_width=None), expand=True)
    progress.add_task(
        f"{min(elapsed, seconds):4.0f} of {seconds:.0f} s", total=seconds, completed=int(elapsed)
    )
    return progress


def milliseconds_of(delays: Sequence[float]) -> str:
    """How long most and nearly all of something take."""
    if not delays:
        return "…"
    ordered = sorted(delays)
    half, most = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    return f"{half:.0f} ms (half of them) and {most:.0f} ms (99 of 100)"


def alert_line(alert: tuple[int, int, float, int]) -> str:
    """An alert where there is no terminal."""
    card, at, amount, after = alert
    return f"ALERT card {card:05d} at {_clock(at)}: {amount:.2f} after {after / 1000:.1f} s"


def late_line(payment: Any) -> str:
    """A payment that came too late, where there is no terminal."""
    return f"late  card {payment.card:05d} at {_clock(payment.time)}: {payment.amount:.2f}"


def _clock(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%H:%M:%S")
