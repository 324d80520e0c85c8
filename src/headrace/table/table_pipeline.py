"""TablePipeline: a query on its way to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.graph.relations import Insert
from headrace.sql.catalog import is_anonymous
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.explain_detail import ExplainDetail
from headrace.table.object_names import ObjectIdentifier
from headrace.table.results import TableResult

if TYPE_CHECKING:
    from headrace.table.environment import TableEnvironment

__all__ = ["TablePipeline"]


class TablePipeline:
    """A complete job: run it, or put it in a statement set."""

    def __init__(self, insert: Insert, t_env: TableEnvironment) -> None:
        self.insert = insert
        self._t_env = t_env

    def execute(self) -> TableResult:
        return self._t_env._runner.inserts([self.insert])

    def explain(self, *extra_details: ExplainDetail) -> str:
        return self._t_env._explained([self.insert], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """The table that is written to; None if it is one without a name."""
        if is_anonymous(self.insert.path):
            return None
        catalog, database, name = self.insert.path
        return ObjectIdentifier.of(catalog, database, name)

    def compile_plan(self) -> CompiledPlan:
        """The job as a plan that can be kept."""
        return self._t_env._compiled([self.insert])
