"""What a statement gave: rows of a job, or what a command prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from headrace.core.logical_types import Field, RowType
from headrace.core.rows import Row
from headrace.core.table_connector import INSERT, KIND_TEXTS
from headrace.core.table_values import COLLECTED, changed_row_maker
from headrace.datastream.collecting import CloseableIterator
from headrace.jobs.client import JobClient
from headrace.table.resolved_schema import ResolvedSchema
from headrace.table.table_schema import TableSchema
from headrace.table.tableau import Tableau

Change = tuple[Any, ...]


class ResultKind(Enum):
    """Whether rows follow."""

    SUCCESS = "SUCCESS"
    SUCCESS_WITH_CONTENT = "SUCCESS_WITH_CONTENT"


class TableResult:
    """The result of execute_sql() or Table.execute()."""

    def __init__(
        self, fields: Sequence[Field], *, kind: ResultKind = ResultKind.SUCCESS_WITH_CONTENT,
        rows: Sequence[Change] = (), changes: CloseableIterator | None = None,
        client: JobClient | None = None, tableau: Tableau | None = None, raw: bool = False,
    ):  # fmt: skip
        self._fields = tuple(fields)
        self._kind = kind
        self._rows = rows
        self._changes = changes
        self._client = client
        self.tableau = tableau or Tableau(
            fields, with_kinds=False, fixed=False, widest=None, null=""
        )
        """How it is drawn: by default as what a command tells, of which nothing is cut."""
        self._raw = raw

    def get_job_client(self) -> JobClient | None:
        return self._client

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the result."""
        return self._fields

    def get_resolved_schema(self) -> ResolvedSchema:
        return ResolvedSchema.of_fields(self._fields)

    def get_table_schema(self) -> TableSchema:
        return TableSchema.of_fields(self._fields)

    def get_result_kind(self) -> ResultKind:
        return self._kind

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait for the job's end; of a query, for its first row."""
        timeout = None if timeout_ms is None else timeout_ms / 1000
        if self._changes is not None:
            self._changes.wait(timeout)
        elif self._client is not None:
            self._client.get_job_execution_result().result(timeout)

    def changes(self) -> Iterator[Change]:
        """Changes as tuples (kind, column, …) in internal form, as they come."""
        return iter(self._rows) if self._changes is None else self._changes

    def collect(self) -> TableRows:
        """Rows with their kinds, as they come; closing it stops the job."""
        return TableRows(self.changes(), RowType(self._fields), self._changes)

    def print(self) -> None:
        """Show all rows in a frame; those of a stream as they come."""
        if self._kind is ResultKind.SUCCESS:
            print("OK")
            return
        lines = self._plain() if self._raw else self.tableau.lines(self.changes())
        for line in lines:
            print(line, flush=self._changes is not None)

    def _plain(self) -> Iterator[str]:
        for change in self.changes():
            yield ", ".join(map(str, change[1:]))


class TableRows(Iterator[Row]):
    """Rows of a result; a `with` block closes it."""

    def __init__(self, changes: Iterator[Change], row: RowType, job: CloseableIterator | None):
        self._changes = changes
        self._row = changed_row_maker(row, COLLECTED)
        self._job = job

    def __next__(self) -> Row:
        row: Row = self._row(next(self._changes))
        return row

    def next(self) -> Row:
        return next(self)

    def close(self) -> None:
        if self._job is not None:
            self._job.close()

    def __enter__(self) -> TableRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def kind_text(change: Change) -> str:
    return KIND_TEXTS[change[0]]


def as_inserts(rows: Sequence[tuple[Any, ...]]) -> list[Change]:
    return [(INSERT, *row) for row in rows]
