"""Tables on the way to an aggregation: grouped, windowed, aggregated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.core.expressions import UserFunction
from headrace.core.logical_types import TIMESTAMPS, is_time_attribute
from headrace.errors import InvalidQuery, Unsupported
from headrace.graph.relations import Over, Relation
from headrace.origin import calling_origin
from headrace.plan.relational.traversal import walk
from headrace.sql import unresolved as un
from headrace.table.expression_base import expression_node, nodes_of
from headrace.table.table_building import Grouped, function_node, without_window
from headrace.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from headrace.table.table import Table


class GroupedTable:
    """Groups of rows."""

    def __init__(self, table: Table, grouped: Grouped) -> None:
        self._table = table
        self._grouped = grouped

    def select(self, *fields: Any) -> Table:
        """One row for each group: its keys and aggregates."""
        with self._table._in_zone():
            nodes = nodes_of(fields, "select")
            made = self._table._building().selected(nodes, self._grouped)
        return self._table._made(made)

    def aggregate(self, func: Any) -> AggregatedTable:
        """A function of groups whose row's fields become columns."""
        _, node = function_node(func, ("aggregate",), "aggregate")
        with self._table._in_zone():
            made = self._table._building().grouped_rows(node, self._grouped)
        window = self._grouped.window
        return AggregatedTable(self._table._made(made), None if window is None else window.name)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """A function of groups that gives any number of rows."""
        if self._grouped.window is not None:
            raise Unsupported("flat_aggregate() over a window", origin=calling_origin())
        user, node = function_node(func, ("table_aggregate",), "flat_aggregate")
        names: tuple[str, ...] = ()
        if isinstance(node, un.Alias):
            names, node = (node.name, *node.more), node.operand
        user, node = _table_aggregate(self._table, user, node)
        with self._table._in_zone():
            building = self._table._building()
            made = building.table_aggregated(user, node, names, self._grouped)
        return FlatAggregateTable(self._table._made(made))


def _table_aggregate(
    table: Table, user: UserFunction | None, node: un.Unresolved
) -> tuple[UserFunction, un.UserApply]:
    if isinstance(node, un.Apply):
        found = table._t_env._session.builder.user_function((*node.path, node.function))
        if found is not None:
            node = un.UserApply(found, node.arguments, at=node.at)
    if not isinstance(node, un.UserApply) or node.function.kind != "table_aggregate":
        raise InvalidQuery(
            "flat_aggregate() takes a table aggregate function", origin=node.at,
            hint="Make it with udtaf(...).",
        )  # fmt: skip
    return user or node.function, node


class GroupWindowedTable:
    """A table with a window to group by."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Any) -> WindowGroupedTable:
        """Groups by the window, which must be among the fields, and by others."""
        nodes = nodes_of(fields, "group_by")
        name = self._window.name
        others = [node for node in nodes if str(node) != name]
        if len(others) != len(nodes) - 1:
            raise InvalidQuery(
                f"group_by() must have the window {name} once", origin=calling_origin(),
                hint=f"Add col({name!r}).",
            )  # fmt: skip
        if name in self._table.relation.names:
            raise InvalidQuery(
                f"the window is called {name} like a column", origin=calling_origin(),
                hint="Give it another alias.",
            )  # fmt: skip
        relation, keys = self._table._building().with_keys(others)
        grouped = Grouped((*keys, un.Name((name,))), self._window)
        return WindowGroupedTable(self._table._made(relation), grouped)


class WindowGroupedTable(GroupedTable):
    """Groups of rows by window."""


class AggregatedTable:
    """Groups with the columns of an aggregate function; select() takes what is wanted."""

    def __init__(self, table: Table, window: str | None = None) -> None:
        self._table = table
        self._window = window

    def select(self, *fields: Any) -> Table:
        nodes = nodes_of(fields, "select")
        if self._window is not None:
            nodes = [_kept_name(node, self._window) for node in nodes]
        return self._table._made(self._table._building().selected(nodes))


def _kept_name(node: un.Unresolved, window: str) -> un.Unresolved:
    made: un.Unresolved = without_window(node, window)
    return made


class FlatAggregateTable:
    """Groups with the rows of a table aggregate function."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def select(self, *fields: Any) -> Table:
        return self._table.select(*fields)


class OverWindowedTable:
    """A table with windows of rows around each row."""

    def __init__(self, table: Table, windows: tuple[OverWindow, ...]) -> None:
        self._table = table
        self._windows = {window.name: window.spec for window in windows}

    def select(self, *fields: Any) -> Table:
        """Expressions, in which aggregates have over(col("w"))."""
        with self._table._in_zone():
            building = replace(self._table._building(), windows=self._windows)
            made = building.selected([expression_node(field, "select") for field in fields])
        self._check_order(made)
        return self._table._made(made)

    def _check_order(self, made: Relation) -> None:
        """Over windows are by time, of a stream by a time attribute; SQL may order by more."""
        batch = self._table._t_env._session.settings.batch
        for part in walk(made):
            if part is self._table.relation:
                break
            if not isinstance(part, Over) or not part.order:
                continue
            type = part.input.types[part.order[0].column]
            if not (is_time_attribute(type) or (batch and isinstance(type, TIMESTAMPS))):
                raise InvalidQuery(
                    f"an over window is ordered by a time attribute, this is {type}",
                    origin=calling_origin(),
                    hint="Order by a column with a watermark, or write the query in SQL.",
                )
