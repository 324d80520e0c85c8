"""Showing outcomes: a table in the terminal, a JSON file and a plot."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.figures import Bar, Check, Outcome, outcome_from_json, outcome_to_json

RESULTS_DIR = Path(__file__).parent / "results"
LATEST = RESULTS_DIR / "latest.json"
PLOT = RESULTS_DIR / "latest.png"
OURS, PEER = "#0f766e", "#94a3b8"


def show(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Print what was measured, then each ratio with its target."""
    measured = Table("benchmark", "engine", title="Measured")
    for heading in ("records", "median", "spread"):
        measured.add_column(heading, justify="right")
    measured.add_column("note")
    checked = Table("benchmark", "figure", title="Targets")
    for heading in ("value", "target", ""):
        checked.add_column(heading, justify="right")
    for outcome in outcomes:
        for bar in outcome.bars:
            measured.add_row(outcome.benchmark, bar.name, *_bar_cells(bar))
        measured.add_section()
        for check in outcome.checks:
            checked.add_row(outcome.benchmark, check.name, *_check_cells(check))
    console.print(measured)
    console.print(checked)


def save(outcome: Outcome) -> None:
    """Put this outcome in place of the benchmark's last one."""
    RESULTS_DIR.mkdir(exist_ok=True)
    stored = _stored()
    stored[outcome.benchmark] = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        **outcome_to_json(outcome),
    }
    LATEST.write_text(json.dumps(stored, indent=2) + "\n")


def saved() -> list[Outcome]:
    """The last outcome of every benchmark that was ever run here."""
    return [outcome_from_json(name, found) for name, found in _stored().items()]


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "pyspark": _version("pyspark"),
        "headrace": _version("headrace"),
    }


def plot(outcomes: Sequence[Outcome]) -> Path:
    """Draw one panel of bars for each benchmark."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    heights = [1.0 + 0.25 * len(outcome.bars) for outcome in outcomes]
    figure, panels = pyplot.subplots(
        len(outcomes), 1, figsize=(9, 1.2 + sum(heights)), squeeze=False,
        gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    for panel, outcome in zip(panels[:, 0], outcomes, strict=True):
        bars = outcome.bars[::-1]
        colours = [OURS if bar.name.startswith("headrace") else PEER for bar in bars]
        drawn = panel.barh([bar.name for bar in bars], [bar.value for bar in bars], color=colours)
        panel.bar_label(drawn, labels=[f" {_quantity(bar.value, bar.unit)}" for bar in bars])
        panel.set_title(_headline(outcome), loc="left", fontsize=10)
        panel.margins(x=0.2)
        panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(PLOT, dpi=130)
    pyplot.close(figure)
    return PLOT


def _stored() -> dict[str, Any]:
    return dict(json.loads(LATEST.read_text())) if LATEST.exists() else {}


def _bar_cells(bar: Bar) -> tuple[str, str, str, str]:
    spread = "–".join(_quantity(end, "") for end in bar.spread) if bar.spread else ""
    return f"{bar.records:,}", _quantity(bar.value, bar.unit), spread, bar.note


def _check_cells(check: Check) -> tuple[str, str, str]:
    verdict = "[green]pass[/]" if check.passed else "[red]fail[/]"
    target = f"{check.bound} {_quantity(check.target, check.unit)}"
    return _quantity(check.value, check.unit), target, verdict


def _headline(outcome: Outcome) -> str:
    found = ", ".join(f"{c.name} {_quantity(c.value, c.unit)}" for c in outcome.checks)
    return f"{outcome.benchmark}: {found}" if found else outcome.benchmark


def _quantity(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    return f"{number} {unit}".strip()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
