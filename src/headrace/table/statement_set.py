"""StatementSet: several INSERTs as one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidQuery, TypeMismatch, naming_the_caller
from headrace.graph.relations import Insert
from headrace.origin import calling_origin
from headrace.sql import statements as st
from headrace.sql.parse_statements import parse_statement
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.explain_detail import ExplainDetail
from headrace.table.results import TableResult
from headrace.table.table_descriptor import TableDescriptor
from headrace.table.table_pipeline import TablePipeline

if TYPE_CHECKING:
    from headrace.table.environment import TableEnvironment
    from headrace.table.table import Table

__all__ = ["StatementSet"]


class StatementSet:
    """Statements that run together, sharing what they read in common."""

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._inserts: list[Insert] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        if not isinstance(table_pipeline, TablePipeline):
            raise TypeMismatch(
                f"add() takes what insert_into() gives, not {table_pipeline!r}",
                origin=calling_origin(),
            )
        self._inserts.append(table_pipeline.insert)
        return self

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """An INSERT statement."""
        with naming_the_caller():
            statement = parse_statement(stmt)
            if not isinstance(statement, st.Insert):
                raise InvalidQuery("a statement set holds only INSERT", origin=statement.at)
            self._inserts.append(self._t_env._session.insert(statement))
        return self

    def add_insert(
        self, target_path_or_descriptor: str | TableDescriptor, table: Table,
        overwrite: bool = False,
    ) -> StatementSet:  # fmt: skip
        """A table written to another."""
        return self.add(table.insert_into(target_path_or_descriptor, overwrite))

    def explain(self, *extra_details: ExplainDetail) -> str:
        return self._t_env._explained(self._inserts, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Start the job; the set is empty afterwards."""
        inserts, self._inserts = self._inserts, []
        return self._t_env._runner.inserts(inserts)

    def attach_as_datastream(self) -> None:
        """Make the statements part of the stream environment's next job."""
        inserts, self._inserts = self._inserts, []
        execution = self._t_env._execution
        for insert in inserts:
            execution.lower(execution.optimized(insert))

    def compile_plan(self) -> CompiledPlan:
        """The statements as a plan that can be kept."""
        return self._t_env._compiled(self._inserts)
