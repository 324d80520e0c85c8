"""Showing the rows of a query, live where there is a terminal."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace.cli.sql_client.result_rows import ChangeRows, KeptRows, MaterializedRows
from headrace.cli.sql_client.settings import ClientSettings, ResultMode
from headrace.core.logical_types import STRING, Field
from headrace.core.table_connector import INSERT
from headrace.table.results import TableResult
from headrace.table.tableau import Tableau

_FRAME_LINES = 8
"""Lines of the screen that are not rows."""
_KIND_STYLES = {"+I": "green", "-U": "yellow", "+U": "cyan", "-D": "red"}
_REFRESHES_PER_SECOND = 4


def show_result(result: TableResult, settings: ClientSettings, console: Console) -> bool:
    """Show a query's rows until it ends; False if Ctrl-C ended it."""
    mode = settings.result_mode
    if mode is ResultMode.TABLEAU:
        return _until_interrupted(result, lambda: _print_tableau(result))
    fields = result.fields
    kept_as = MaterializedRows if mode is ResultMode.TABLE else ChangeRows
    view = _View(kept_as(fields, settings.max_rows), console)
    finished = _until_interrupted(result, lambda: view.follow(result))
    view.print_all()
    return finished


def _print_tableau(result: TableResult) -> None:
    for line in result.tableau.lines(result.changes()):
        print(line, flush=True)


def _until_interrupted(result: TableResult, work: Any) -> bool:
    with interruptible():
        try:
            work()
        except KeyboardInterrupt:
            client = result.get_job_client()
            if client is not None:
                client.cancel().result()
            return False
    return True


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end only what is inside: Spark's own handler would end every job there is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(signal_number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _View:
    def __init__(self, kept: KeptRows, console: Console):
        self._kept = kept
        self._console = console
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def follow(self, result: TableResult) -> None:
        if not self._console.is_terminal:
            self._take_in(result)
            return
        with Live(
            get_renderable=self._screen, console=self._console, transient=True,
            refresh_per_second=_REFRESHES_PER_SECOND, vertical_overflow="crop",
        ):  # fmt: skip
            self._take_in(result)

    def _take_in(self, result: TableResult) -> None:
        for change in result.changes():
            with self._lock:
                self._kept.add(change)

    def _screen(self) -> RenderableType:
        with self._lock:
            size = max(1, self._console.size.height - _FRAME_LINES)
            rows = self._kept.last(size)
            total, changes = len(self._kept), self._kept.changes
        seconds = time.monotonic() - self._began
        more = f"the last {len(rows)} of {total:,} rows" if total > len(rows) else f"{total} rows"
        foot = f"{more}, {changes:,} changes, {seconds:.0f} s; Ctrl-C stops the query"
        return Group(self._drawn(rows), Text(foot, style="dim"))

    def _drawn(self, rows: list[tuple[str, ...]]) -> Table:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for head in self._kept.heads:
            table.add_column(head, overflow="ellipsis", no_wrap=True)
        with_kinds = isinstance(self._kept, ChangeRows)
        for row in rows:
            table.add_row(*map(Text, row), style=_KIND_STYLES[row[0]] if with_kinds else "")
        return table

    def print_all(self) -> None:
        """The result as it stood in the end, which stays on the screen."""
        kept = self._kept
        for line in _framed(kept):
            print(line)
        if kept.dropped:
            print(f"{kept.dropped:,} older rows are not shown: see SET 'sql-client.execution."
                  "max-table-result.rows'")  # fmt: skip


def _framed(kept: KeptRows) -> Iterator[str]:
    fields = [Field(head, STRING) for head in kept.heads]
    rows = ((INSERT, *row) for row in kept.rows())
    return Tableau(fields, with_kinds=False, fixed=False).lines(rows)
