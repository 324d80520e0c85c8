"""Writing the records of a stream with a statement."""

from __future__ import annotations

from typing import Any

from headrace.connectors.argument_checks import require_instance
from headrace.connectors.jdbc.addresses import parse_address
from headrace.connectors.jdbc.databases import open_database
from headrace.connectors.jdbc.exactly_once import ExactlyOnceSink
from headrace.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
)
from headrace.connectors.jdbc.sessions import Session
from headrace.connectors.jdbc.statements import parse_statement
from headrace.connectors.jdbc.values import bind_values
from headrace.connectors.jdbc.work import StatementWork, Work
from headrace.connectors.waiting_records import WaitingRecords
from headrace.core.composite_types import RowTypeInfo
from headrace.core.functions import RuntimeContext
from headrace.core.operator import TaskInfo
from headrace.core.sink import Sink, SinkWriter
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = ["JdbcSink"]


class JdbcSink(Sink[Any]):
    """Writes each record with a statement, many at a time; after a failure some come again.

    `exactly_once_sink` writes them once, in transactions that are committed with checkpoints.
    """

    def __init__(
        self, work: Work, connection: JdbcConnectionOptions, execution: JdbcExecutionOptions
    ):
        self.work = work
        self.connection = connection
        self.execution = execution

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink whose statement takes the fields of a row in their order, one for each `?`."""
        parts = _check(sql, type_info, jdbc_connection_options, jdbc_execution_options)
        return JdbcSink(*parts)

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        jdbc_exactly_once_options: JdbcExactlyOnceOptions | None = None,
    ) -> ExactlyOnceSink:
        """The same, each record once (*beyond PyFlink*): what a checkpoint has is prepared with
        it, and committed after it."""
        parts = _check(sql, type_info, jdbc_connection_options, jdbc_execution_options)
        once = jdbc_exactly_once_options or JdbcExactlyOnceOptions.defaults()
        once = require_instance(once, JdbcExactlyOnceOptions, "exactly_once_sink")
        return ExactlyOnceSink(*parts, once)

    def open(self, runtime_context: RuntimeContext) -> None:
        self._session = Session(open_database(self.connection))
        self._rows = WaitingRecords(
            self._write,
            most=self.execution.batch_size or None,
            interval_ms=self.execution.batch_interval_ms,
        )

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        return _Writer(self._rows, self.work)

    def _write(self, rows: list[Any]) -> None:
        def run(connection: Any) -> None:
            with connection.cursor() as cursor:
                try:
                    self.work.apply_at_once(cursor, rows)
                except Exception as error:
                    if not self._session.database.refuses_many(error):
                        raise
                    connection.rollback()
                    self.work.apply(cursor, rows)
            connection.commit()

        self._session.attempt(run, "cannot write to", self.execution.max_retries)

    def close(self) -> None:
        if hasattr(self, "_session"):
            self._rows.close()
            self._session.close()


class _Writer(SinkWriter[Any]):
    def __init__(self, rows: WaitingRecords, work: Work):
        self._rows = rows
        self._bind = work.bind

    def write(self, value: Any, timestamp: int | None) -> None:
        self._rows.add(self._bind(value))

    def prepare_commit(self) -> list[Any]:
        self._rows.flush()
        return []

    def close(self) -> None:
        self._rows.forget()  # of a checkpoint that failed: they come again


def _check(
    sql: str, type_info: TypeInformation, connection: Any, execution: Any
) -> tuple[Work, JdbcConnectionOptions, JdbcExecutionOptions]:
    options = require_instance(
        connection,
        JdbcConnectionOptions,
        "a JDBC sink",
        "JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url('jdbc:…').build()",
    )
    execution = execution or JdbcExecutionOptions.defaults()
    execution = require_instance(execution, JdbcExecutionOptions, "a JDBC sink")
    if not isinstance(type_info, RowTypeInfo):
        raise TypeMismatch(
            f"a JDBC sink takes the type of a row, not {type_info!r}",
            origin=calling_origin(),
            hint="For instance Types.ROW([Types.INT(), Types.STRING()]).",
        )
    address = parse_address(options.url)
    statement = parse_statement(sql, address.kind)
    types = type_info.get_field_types()
    if statement.values != len(types):
        raise InvalidArgument(
            f"the statement has {statement.values} places for values (?), and the rows have "
            f"{len(types)} fields",
            origin=calling_origin(),
            hint="Each field of the row is one ? of the statement, in the same order.",
        )
    work = StatementWork(statement, bind_values(types, address.kind))
    return work, options, execution
