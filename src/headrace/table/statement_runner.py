"""Runs one statement of SQL: catalogs change, jobs start, plans are shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace.core.logical_types import BIGINT, STRING, Field
from headrace.datastream.collecting import CloseableIterator
from headrace.errors import HeadraceError, InvalidQuery, Unsupported
from headrace.graph.relations import Insert, Relation
from headrace.sql import ddl, functions
from headrace.sql import statements as st
from headrace.sql.catalog import is_anonymous
from headrace.table.compiled_plan import compile_inserts, read_inserts, read_plan, write_plan
from headrace.table.execution import Execution
from headrace.table.explaining import explained
from headrace.table.plan_reference import PlanReference
from headrace.table.results import ResultKind, TableResult, as_inserts
from headrace.table.session import TableSession
from headrace.table.tableau import Tableau

_NOT_RUN: dict[type[st.Statement], tuple[str, str]] = {
    st.Update: ("UPDATE", "No connector changes rows in place: write changed rows with INSERT."),
    st.Delete: ("DELETE", "No connector deletes rows in place: INSERT OVERWRITE what shall stay."),
    st.Truncate: ("TRUNCATE TABLE", "INSERT OVERWRITE the table with a query without rows."),
    st.Analyze: ("ANALYZE TABLE", "Spark gathers what it needs to know when a query runs."),
    st.Call: ("CALL", "There are no procedures; run a query or a program."),
    st.StopJob: ("STOP JOB", "get_job_client().stop_with_savepoint() of the statement's result."),
}


class StatementRunner:
    """What `execute_sql` does with a parsed statement."""

    def __init__(self, session: TableSession, execution: Execution):
        self.session = session
        self.execution = execution
        self.configuration = session.settings.configuration
        self.catalog_session = ddl.Session.of(
            session.catalogs,
            functions=session.functions,
            schema_of=self._schema_of,
            builtin_names=functions.names,
        )

    def _schema_of(self, tree: Any, text: str) -> Sequence[Field]:
        return self.session.query(tree).schema

    def run(self, statement: st.Statement) -> TableResult:
        match statement:
            case st.Query():
                return self.query(self.session.query(statement.tree))
            case st.Insert():
                return self.inserts([self.session.insert(statement)])
            case st.StatementSet():
                return self.inserts(self.inserts_of(statement))
            case st.CompilePlan():
                return self._compile(statement)
            case st.ExecutePlan():
                return self.inserts(_inserts_in(statement.file))
            case st.CreateTableAs():
                return self._create_table_as(statement)
            case st.Explain():
                text = explained(self._relations(statement.statement), self.execution)
                rows = as_inserts([(text,)])
                return TableResult((Field("result", STRING),), rows=rows, raw=True)
            case st.SetOption() | st.ResetOption():
                return self._option(statement)
        printed = ddl.run(self.catalog_session, statement)
        if printed is None:
            what, hint = _NOT_RUN.get(type(statement), (type(statement).__name__, None))
            raise Unsupported(f"{what} cannot be run here", origin=statement.at, hint=hint)
        kind = ResultKind.SUCCESS if printed is ddl.DONE else ResultKind.SUCCESS_WITH_CONTENT
        return TableResult(printed.columns, kind=kind, rows=as_inserts(printed.rows))

    def inserts_of(self, statement: st.Statement) -> list[Insert]:
        """The statements of INSERT or of a statement set."""
        if isinstance(statement, st.StatementSet):
            return [self._as_insert(each) for each in statement.inserts]
        if isinstance(statement, st.Insert):
            return [self.session.insert(statement)]
        raise InvalidQuery(
            "only INSERT and statement sets become plans",
            origin=statement.at,
            hint="INSERT INTO …, or STATEMENT SET BEGIN … END.",
        )

    def _compile(self, statement: st.CompilePlan) -> TableResult:
        file, recompiles = Path(statement.file), self.session.settings.recompiles
        lenient = statement.if_not_exists or statement.execute
        if not (lenient and file.exists() and not recompiles):
            text = compile_inserts(self.inserts_of(statement.statement))
            write_plan(text, file, lenient, recompiles)
        if statement.execute:
            return self.inserts(_inserts_in(statement.file))
        return TableResult(ddl.DONE.columns, kind=ResultKind.SUCCESS)

    def _as_insert(self, statement: st.Statement) -> Insert:
        if not isinstance(statement, st.Insert):
            raise InvalidQuery("a statement set holds only INSERT", origin=statement.at)
        return self.session.insert(statement)

    def _relations(self, statement: st.Statement) -> list[Relation]:
        match statement:
            case st.Query():
                return [self.session.query(statement.tree)]
            case st.Insert() | st.StatementSet():
                return [*self.inserts_of(statement)]
        raise InvalidQuery(
            "only queries and INSERT can be explained",
            origin=statement.at,
            hint="EXPLAIN SELECT …, EXPLAIN INSERT INTO … or EXPLAIN STATEMENT SET BEGIN … END.",
        )

    def query(self, relation: Relation, name: str = "collect") -> TableResult:
        """Start a query; its changes come as they are made."""
        changes = CloseableIterator()
        client = self.execution.collect(relation, changes, name)
        changes.follow(client)
        settings = self.execution.settings
        tableau = Tableau(
            relation.schema, with_kinds=not settings.batch, fixed=True, widest=settings.widest
        )
        return TableResult(relation.schema, changes=changes, client=client, tableau=tableau)

    def inserts(self, inserts: Sequence[Insert]) -> TableResult:
        """Start INSERT statements as one job."""
        if not inserts:
            raise InvalidQuery("there is nothing to insert: the statement set is empty")
        paths = [
            insert.path[-1] if is_anonymous(insert.path) else ".".join(insert.path)
            for insert in inserts
        ]
        client = self.execution.run(inserts, f"insert-into_{paths[0]}")
        fields = [Field(path, BIGINT) for path in dict.fromkeys(paths)]
        unknown = as_inserts([(-1,) * len(fields)])
        result = TableResult(fields, client=client, rows=unknown, raw=True)
        if self.configuration.get_boolean("table.dml-sync", False):
            result.wait()
        return result

    def _create_table_as(self, statement: st.CreateTableAs) -> TableResult:
        relation = self.session.query(statement.query)
        table = ddl.table_of_query(self.catalog_session, statement, relation.schema)
        declared = statement.table
        manager = self.session.catalogs
        if statement.replace and manager.find_table(declared.path) is not None:
            manager.drop_table(declared.path, temporary=declared.temporary, at=statement.at)
        created = manager.create_table(
            declared.path,
            table,
            temporary=declared.temporary,
            if_not_exists=declared.if_not_exists,
            at=statement.at,
        )
        if not created:
            return TableResult(ddl.DONE.columns, kind=ResultKind.SUCCESS)
        try:
            insert = self.session.written(relation, declared.path, names=relation.names)
        except HeadraceError:
            manager.drop_table(declared.path, temporary=declared.temporary, at=statement.at)
            raise
        return self.inserts([insert])

    def _option(self, statement: st.SetOption | st.ResetOption) -> TableResult:
        key = statement.key
        if isinstance(statement, st.SetOption):
            if key is None:
                listed = sorted(self.configuration.to_dict().items())
                fields = (Field("key", STRING), Field("value", STRING))
                return _printed(fields, listed)
            self.configuration.set_string(key, statement.value or "")
        elif key is None:
            for each in list(self.configuration.to_dict()):
                self.configuration.remove_config(each)
        else:
            self.configuration.remove_config(key)
        return TableResult(ddl.DONE.columns, kind=ResultKind.SUCCESS)


def _printed(fields: Sequence[Field], rows: Sequence[tuple[Any, ...]]) -> TableResult:
    return TableResult(fields, rows=as_inserts(rows))


def _inserts_in(file: str) -> tuple[Insert, ...]:
    return read_inserts(read_plan(PlanReference.from_file(file)))
