"""Table: a query that more can be asked of, and that is run by execute() and execute_insert()."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.cep.drawing import Drawing
from headrace.core.logical_types import RowType
from headrace.core.table_connector import CatalogTable
from headrace.errors import InvalidArgument, InvalidQuery, TypeMismatch
from headrace.graph.relations import FULL, INNER, LEFT, RIGHT, Relation
from headrace.operators.functions.session import session_time_zone
from headrace.origin import calling_origin
from headrace.sql import unresolved as un
from headrace.sql.changelog_functions import changelog_arguments, changelog_function
from headrace.sql.position import did_you_mean
from headrace.sql.relations import distinct, renamed
from headrace.sql.set_operations import combined
from headrace.sql.subqueries import filtered
from headrace.table.explain_detail import ExplainDetail
from headrace.table.expression import Expression
from headrace.table.expression_base import nodes_of
from headrace.table.expressions import condition_node
from headrace.table.grouped_table import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
)
from headrace.table.match_recognize import matched
from headrace.table.pattern_drawings import drawings
from headrace.table.resolved_schema import ResolvedSchema
from headrace.table.results import TableResult
from headrace.table.row_frames import data_frame
from headrace.table.table_building import Building, Grouped, cut, function_node
from headrace.table.table_descriptor import TableDescriptor
from headrace.table.table_pipeline import TablePipeline
from headrace.table.table_schema import TableSchema
from headrace.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from headrace.table.environment import TableEnvironment

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


class Table:
    """A query over tables. Methods give new tables; nothing runs before it is executed."""

    def __init__(
        self, relation: Relation, t_env: TableEnvironment, declared: CatalogTable | None = None
    ) -> None:
        self.relation = relation
        self._t_env = t_env
        self._declared = declared
        """For a table of a catalog: how it was declared."""
        self._name: str | None = None

    def __str__(self) -> str:
        """The name by which SQL text can use the table."""
        if self._name is None:
            self._name = self._t_env._register_unnamed(self.relation)
        return self._name

    def __getattr__(self, name: str) -> Expression[Any]:
        names = self.relation.names if "relation" in vars(self) else ()
        if name.startswith("__") or name not in names:
            raise AttributeError(
                f"the table has no column {name!r}; its columns are {', '.join(names)}"
            )
        return Expression(un.Name((name,), at=calling_origin()))

    def _building(self) -> Building:
        return Building(self._t_env._session.builder, self.relation)

    def _made(self, relation: Relation) -> Table:
        return Table(relation, self._t_env)

    def _in_zone(self) -> Any:
        return session_time_zone(self._t_env._session.settings.zone)

    # Columns.

    def select(self, *fields: Expression[Any]) -> Table:
        """Expressions as columns; with aggregates, one row for all rows."""
        with self._in_zone():
            return self._made(self._building().selected(nodes_of(fields, "select")))

    def alias(self, field: str, *fields: str) -> Table:
        """The first columns by other names."""
        names = (field, *fields)
        own = self.relation.names
        if len(names) > len(own) or not all(isinstance(name, str) for name in names):
            raise InvalidQuery(
                f"alias() takes up to {len(own)} names, one for each column",
                origin=calling_origin(),
            )
        return self._made(_renamed(self.relation, [*names, *own[len(names) :]]))

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """With further columns at the end."""
        with self._in_zone():
            items = (un.Star(), *nodes_of(fields, "add_columns"))
            return self._made(self._building().selected(items))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """With further columns, those of the same name in place of the old ones."""
        added = {
            node.name: node
            for node in nodes_of(fields, "add_or_replace_columns")
            if isinstance(node, un.Alias)
        }
        unnamed = [
            node
            for node in nodes_of(fields, "add_or_replace_columns")
            if not isinstance(node, un.Alias)
        ]
        items: list[un.Unresolved] = [
            added.pop(name) if name in added else un.Name((name,)) for name in self.relation.names
        ]
        with self._in_zone():
            return self._made(self._building().selected([*items, *added.values(), *unnamed]))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """Some columns by other names: col("a").alias("b")."""
        names = list(self.relation.names)
        for node in nodes_of(fields, "rename_columns"):
            if not isinstance(node, un.Alias) or not isinstance(node.operand, un.Name):
                raise InvalidQuery("rename_columns() takes col('old').alias('new')", origin=node.at)
            names[self._place(str(node.operand), node.at)] = node.name
        return self._made(_renamed(self.relation, names))

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """Without some columns."""
        chosen = self._building().chosen().items(nodes_of(fields, "drop_columns"))
        gone = {self._place(str(node), node.at) for node in chosen}
        kept = [un.Name((n,)) for at, n in enumerate(self.relation.names) if at not in gone]
        return self._made(self._building().selected(kept))

    def _place(self, name: str, at: object | None) -> int:
        names = self.relation.names
        if name not in names:
            raise InvalidQuery(
                f"the table has no column {name}", origin=at,
                hint=did_you_mean(name, names, f"columns are {', '.join(names)}"),
            )  # fmt: skip
        return names.index(name)

    # Rows.

    def filter(self, predicate: Expression[bool]) -> Table:
        """The rows for which a condition is true."""
        with self._in_zone():
            building = self._building()
            node = building.node(condition_node(predicate, "filter"))
            condition = building.resolver().within("WHERE").condition(node)
            return self._made(filtered(self.relation, condition))

    def where(self, predicate: Expression[bool]) -> Table:
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Each row once."""
        return self._made(distinct(self.relation))

    def order_by(self, *fields: Expression[Any]) -> Table:
        """In the order of some columns: col("a").desc."""
        items = [
            node if isinstance(node, un.SortItem) else un.SortItem(node, at=node.at)
            for node in nodes_of(fields, "order_by")
        ]
        with self._in_zone():
            return self._made(self._building().ordered(items))

    def offset(self, offset: int) -> Table:
        """Without the first rows of an order."""
        return self._made(cut(self.relation, _count(offset, "offset"), None))

    def fetch(self, fetch: int) -> Table:
        """The first rows of an order."""
        return self._made(cut(self.relation, None, _count(fetch, "fetch")))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        return self._made(cut(self.relation, _count(offset, "limit"), _count(fetch, "limit")))

    # With other tables.

    def join(self, right: Table, join_predicate: Expression[bool] | None = None) -> Table:
        """Rows of both tables for which a condition is true."""
        return self._joined(right, INNER, join_predicate)

    def left_outer_join(
        self, right: Table, join_predicate: Expression[bool] | None = None
    ) -> Table:
        return self._joined(right, LEFT, join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        return self._joined(right, RIGHT, join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression[bool]) -> Table:
        return self._joined(right, FULL, join_predicate)

    def _joined(self, right: Table, kind: str, predicate: Any) -> Table:
        condition = None if predicate is None else condition_node(predicate, "join")
        with self._in_zone():
            return self._made(self._building().joined(self._other(right), kind, condition))

    def join_lateral(
        self, table_function_call: Any, join_predicate: Expression[bool] | None = None
    ) -> Table:
        """Each row with the rows that a table function makes of it."""
        return self._lateral(table_function_call, INNER, join_predicate)

    def left_outer_join_lateral(
        self, table_function_call: Any, join_predicate: Expression[bool] | None = None
    ) -> Table:
        """The same, where a row without any is kept."""
        return self._lateral(table_function_call, LEFT, join_predicate)

    def _lateral(self, call: Any, kind: str, predicate: Any) -> Table:
        _, node = function_node(call, ("table",), "join_lateral")
        condition = None if predicate is None else condition_node(predicate, "join_lateral")
        with self._in_zone():
            return self._made(self._building().correlated(node, kind, condition))

    def minus(self, right: Table) -> Table:
        """Rows that are not in another table, each once."""
        return self._combined("except", right, all=False)

    def minus_all(self, right: Table) -> Table:
        return self._combined("except", right, all=True)

    def union(self, right: Table) -> Table:
        """Rows of either table, each once."""
        return self._combined("union", right, all=False)

    def union_all(self, right: Table) -> Table:
        return self._combined("union", right, all=True)

    def intersect(self, right: Table) -> Table:
        """Rows of both tables, each once."""
        return self._combined("intersect", right, all=False)

    def intersect_all(self, right: Table) -> Table:
        return self._combined("intersect", right, all=True)

    def _combined(self, kind: str, right: Table, *, all: bool) -> Table:
        branches = [self.relation, self._other(right)]
        return self._made(combined(kind, branches, all=all, at=calling_origin()))

    def _other(self, right: Any) -> Relation:
        if not isinstance(right, Table):
            raise TypeMismatch(f"another table is needed, not {right!r}", origin=calling_origin())
        if right._t_env is not self._t_env:
            raise InvalidArgument(
                "tables of two environments cannot be combined", origin=calling_origin(),
                hint="Make both with the same TableEnvironment.",
            )  # fmt: skip
        return right.relation

    # Groups and windows.

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Groups of rows with equal values; select() says what becomes of each."""
        with self._in_zone():
            relation, keys = self._building().with_keys(nodes_of(fields, "group_by"))
        return GroupedTable(self._made(relation), Grouped(keys))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Windows of time to group by: Tumble, Slide or Session."""
        if not isinstance(window, GroupWindow):
            raise TypeMismatch(
                f"window() takes a window with an alias, not {window!r}", origin=calling_origin(),
                hint="Tumble.over(lit(10).minutes).on(col('ts')).alias('w')",
            )  # fmt: skip
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Windows of rows around each row, for aggregates with over()."""
        if not over_windows or not all(isinstance(each, OverWindow) for each in over_windows):
            raise TypeMismatch(
                "over_window() takes windows with an alias", origin=calling_origin(),
                hint="Over.partition_by(col('a')).order_by(col('ts')).alias('w')",
            )  # fmt: skip
        return OverWindowedTable(self, over_windows)

    # Patterns.

    def match_recognize(
        self, *, pattern: str, define: Mapping[str, Expression[bool]],
        measures: Mapping[str, Expression[Any]], order_by: Any, partition_by: Any = (),
        rows_per_match: str | None = None, after_match: str | None = None, within: Any = None,
        subsets: Mapping[str, Sequence[str]] | None = None,
    ) -> Table:  # fmt: skip
        """Sequences of rows that follow a pattern: MATCH_RECOGNIZE of SQL.

        `pattern`, `rows_per_match` and `after_match` are text as in SQL. Conditions and measures
        are expressions; `headrace.table.match_recognize` has variables, first() and last().
        """
        with self._in_zone():
            found = matched(
                self._building(), pattern=pattern, define=define, measures=measures,
                order_by=order_by, partition_by=partition_by, rows_per_match=rows_per_match,
                after_match=after_match, within=within, subsets=subsets,
            )  # fmt: skip
        return self._made(found)

    def draw_patterns(self) -> tuple[Drawing, ...]:
        """The states and edges of each pattern of MATCH_RECOGNIZE: `.svg()`, `.png()`, or as text
        when printed."""
        return drawings(self.relation)

    # Functions of rows.

    def map(self, func: Any) -> Table:
        """What a scalar function makes of each row; its row's fields are the columns."""
        _, node = function_node(func, ("scalar",), "map")
        with self._in_zone():
            return self._made(self._building().mapped(node))

    def flat_map(self, func: Any) -> Table:
        """All rows that a table function makes of each row."""
        _, node = function_node(func, ("table",), "flat_map")
        with self._in_zone():
            return self._made(self._building().flat_mapped(node))

    def aggregate(self, func: Any) -> AggregatedTable:
        """One row for all rows, of a function's fields."""
        return GroupedTable(self, Grouped()).aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Any number of rows for all rows."""
        return GroupedTable(self, Grouped()).flat_aggregate(func)

    # Changelogs.

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Changes as rows, with the kind of change as a column."""
        return self._changelog("TO_CHANGELOG", arguments)

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """Rows as changes, by a column with the kind of change."""
        return self._changelog("FROM_CHANGELOG", arguments)

    def _changelog(self, function: str, arguments: Sequence[Any]) -> Table:
        given = un.NamedArgument("input", un.TableArgument(self.relation))
        nodes = (given, *nodes_of(arguments, function.lower()))
        node = un.Apply(function, nodes, at=calling_origin())
        with self._in_zone():
            named = changelog_arguments(node)
            resolver = self._building().resolver()
            return self._made(changelog_function(resolver, self.relation, node, named))

    # What it is, and running it.

    def get_schema(self) -> TableSchema:
        return TableSchema.of_fields(self.relation.schema)

    def get_resolved_schema(self) -> ResolvedSchema:
        if self._declared is not None:
            return ResolvedSchema.of_table(self._declared, self.relation)
        return ResolvedSchema.of_relation(self.relation)

    def print_schema(self) -> None:
        print(self.get_resolved_schema())

    def execute(self) -> TableResult:
        """Start the query; its changes can be collected or printed."""
        return self._t_env._runner.query(self.relation)

    def to_pandas(self) -> Any:
        """Run the query and give its rows as a pandas DataFrame."""
        zone = self._t_env._session.settings.zone
        return data_frame(self.execute().changes(), RowType(self.relation.schema), zone)

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """The query written to a table, to be run or put in a statement set."""
        path = self._t_env._target(table_path_or_descriptor)
        insert = self._t_env._session.written(
            self.relation, path, overwrite=overwrite, at=calling_origin()
        )
        return TablePipeline(insert, self._t_env)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Start a job that writes the query to a table."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def explain(self, *extra_details: ExplainDetail) -> str:
        """What was asked, what is run, and by which engine."""
        return self._t_env._explained([self.relation], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        print(self.explain(*extra_details))


def _count(given: Any, method: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise InvalidArgument(
            f"{method}() takes a number of rows, not {given!r}", origin=calling_origin()
        )
    return given


def _renamed(relation: Relation, names: Sequence[str]) -> Relation:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InvalidQuery(f"ambiguous column name: {name}", origin=calling_origin())
    return renamed(relation, names)
