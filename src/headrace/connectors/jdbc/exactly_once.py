"""Writing each record once: prepared with a checkpoint in the workers, committed after it."""

from __future__ import annotations

import logging
import time
import uuid
from typing import Any

from headrace.connectors.jdbc.databases import open_database
from headrace.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
)
from headrace.connectors.jdbc.sessions import Session
from headrace.connectors.jdbc.transactions import (
    Prepared,
    TransactionName,
    new_name,
    session_label,
    transactions_of,
)
from headrace.connectors.jdbc.work import Work
from headrace.connectors.part_names import owner_of
from headrace.core.functions import RuntimeContext
from headrace.core.operator import TaskInfo
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.errors import JobFailed

_LOG = logging.getLogger("headrace")
_DETACH_S = 10.0
"""How long a server may take to notice that a session is gone."""


class ExactlyOnceSink(Sink[Any]):
    """Made by `JdbcSink.exactly_once_sink`."""

    def __init__(
        self,
        work: Work,
        connection: JdbcConnectionOptions,
        execution: JdbcExecutionOptions,
        once: JdbcExactlyOnceOptions,
    ):
        self.work = work
        self.connection = connection
        self.execution = execution
        self.once = once
        self.run_id = uuid.uuid4().hex
        self._session: Session | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self._session = None

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        owner = owner_of(task, self.run_id)
        if self._session is None:
            database = open_database(self.connection)
            ways = transactions_of(database)
            self._session = Session(
                database,
                session_label(owner),
                lambda connection: ways.set_up(connection, self.once.timeout_s),
            )
        return TransactionWriter(self, self._session, new_name(owner, task))

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def create_committer(self) -> Committer[Any]:
        return TransactionCommitter(self)


class TransactionWriter(SinkWriter[Any]):
    """One transaction: what a subtask writes for one checkpoint."""

    def __init__(self, sink: ExactlyOnceSink, session: Session, name: TransactionName):
        self._sink = sink
        self._session = session
        self._name = name
        self._ways = transactions_of(session.database)
        self._size = sink.execution.batch_size
        self._rows: list[Any] = []
        self._begun = False
        self._done = False

    def write(self, value: Any, timestamp: int | None) -> None:
        self._rows.append(self._sink.work.bind(value))
        if self._size and len(self._rows) >= self._size:
            self._flush()

    def _flush(self) -> None:
        def run(connection: Any) -> None:
            with connection.cursor() as cursor:
                if not self._begun:
                    self._ways.begin(cursor, self._name)
                self._sink.work.apply(cursor, self._rows)

        if self._rows:
            # Of a transaction that was lost only the first rows are still here.
            self._session.attempt(
                run, "cannot write to", self._sink.execution.max_retries, lambda: not self._begun
            )
            self._begun = True
            self._rows = []

    def prepare_commit(self) -> list[Prepared]:
        self._flush()
        if not self._begun:
            return []

        def run(connection: Any) -> Prepared:
            with connection.cursor() as cursor:
                return self._ways.prepare(cursor, self._name)

        prepared = self._session.attempt(run, "cannot prepare a transaction in")
        self._done = True
        if not self._ways.reuses_connection:
            self._session.close()
        return [prepared]

    def close(self) -> None:
        if self._begun and not self._done:
            self._session.close()  # which rolls it back


class TransactionCommitter(Committer[Prepared]):
    """Commits what was prepared; what is left of earlier attempts it rolls back."""

    def __init__(self, sink: ExactlyOnceSink):
        self._sink = sink
        self._owner: str | None = None
        self._database = open_database(sink.connection)
        self._ways = transactions_of(self._database)
        self._session = Session(self._database, "headrace-commits", self._set_up)

    def _set_up(self, connection: Any) -> None:
        self._ways.set_up(connection, self._sink.once.timeout_s)

    def open(self, task: TaskInfo) -> None:
        self._owner = owner_of(task, self._sink.run_id)

    def commit(self, committables: list[Prepared]) -> None:
        self._commit(committables, again=False)

    def recover(self, committables: list[Prepared]) -> None:
        self._commit(committables, again=True)

    def _commit(self, committables: list[Prepared], again: bool) -> None:
        tried = again

        def run(connection: Any) -> None:
            nonlocal tried
            before, tried = tried, True
            with connection.cursor() as cursor:
                for prepared in committables:
                    if not self._end(cursor, prepared.name) and not (
                        before and self._was_committed(cursor, prepared)
                    ):
                        raise self._gone(prepared)

        attempts = self._sink.once.max_commit_attempts
        self._session.attempt(run, "cannot commit in", attempts - 1)

    def _end(self, cursor: Any, name: TransactionName) -> bool:
        """Commit one. A server that has not noticed yet that its session is gone calls it
        unknown, but lists it."""
        deadline = time.monotonic() + _DETACH_S
        while not self._ways.commit(cursor, name):
            if name not in self._ways.find(cursor, name.owner):
                return False
            if time.monotonic() > deadline:
                raise JobFailed(
                    f"transaction {name} of {self._database.label} at {self._database.address} is "
                    "held by another session",
                    hint="It is committed when the job is started again and that session is over.",
                )
            time.sleep(0.02)
        return True

    def _was_committed(self, cursor: Any, prepared: Prepared) -> bool:
        return self._ways.became(cursor, prepared) != "aborted"

    def _gone(self, prepared: Prepared) -> JobFailed:
        return JobFailed(
            f"transaction {prepared.name} of {self._database.label} at {self._database.address} "
            "was prepared, and somebody else has ended it: unless the job was started once more "
            "meanwhile, its rows may be lost",
            hint="Leave prepared transactions whose names begin with 'headrace-' alone.",
        )

    def abort(self, committables: list[Prepared]) -> None:
        self._roll_back([prepared.name for prepared in committables])

    def recovered(self) -> None:
        """Nobody writes now, and what counts is committed: the rest was left by killed workers."""
        if self._owner is None:
            return
        owner = self._owner

        def run(connection: Any) -> list[TransactionName]:
            with connection.cursor() as cursor:
                self._ways.end_sessions(cursor, owner)
                return self._ways.find(cursor, owner)

        self._roll_back(self._session.attempt(run, "cannot ask for prepared transactions in"))

    def tick(self, now_ms: int, final: bool) -> None:
        if final:
            self.recovered()

    def _roll_back(self, names: list[TransactionName]) -> None:
        def run(connection: Any) -> None:
            with connection.cursor() as cursor:
                for name in names:
                    self._ways.roll_back(cursor, name)
                    _LOG.info("rolled back %s, which belongs to no checkpoint", name)

        if names:
            attempts = self._sink.once.max_commit_attempts
            self._session.attempt(run, "cannot roll back in", attempts - 1)

    def close(self) -> None:
        self._session.close()
