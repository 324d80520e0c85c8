"""Expressions: aggregates, and what is said about a column as a whole."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from headrace.errors import TypeMismatch
from headrace.origin import calling_origin
from headrace.sql import unresolved as un
from headrace.table.data_types import DataType
from headrace.table.expression_base import Derived, ExpressionBase, node_of, said
from headrace.table.type_mapping import logical_type_of


def _distinct(expression: ExpressionBase) -> Any:
    node = expression.node
    if not isinstance(node, un.Apply | un.UserApply):
        raise TypeMismatch(
            "distinct follows an aggregate", origin=calling_origin(),
            hint="Write col('a').count.distinct.",
        )  # fmt: skip
    return expression.__class__(replace(node, distinct=True))


class AggregateExpressions(ExpressionBase):
    """Functions of many rows, names, orders and casts."""

    distinct: Derived[Self] = Derived(_distinct, "The aggregate of each value only once.")
    sum: Derived[Self] = Derived("SUM", "The sum; NULL of no values.")
    sum0: Derived[Self] = Derived("SUM0", "The sum; 0 of no values.")
    min: Derived[Self] = Derived("MIN", "The smallest value.")
    max: Derived[Self] = Derived("MAX", "The largest value.")
    count: Derived[Self] = Derived("COUNT", "How many values are not NULL.")
    avg: Derived[Self] = Derived("AVG", "The mean.")
    first_value: Derived[Self] = Derived("FIRST_VALUE", "The first value.")
    last_value: Derived[Self] = Derived("LAST_VALUE", "The last value.")
    stddev_pop: Derived[Self] = Derived("STDDEV_POP", "The standard deviation.")
    stddev_samp: Derived[Self] = Derived("STDDEV_SAMP", "The standard deviation of a sample.")
    var_pop: Derived[Self] = Derived("VAR_POP", "The variance.")
    var_samp: Derived[Self] = Derived("VAR_SAMP", "The variance of a sample.")
    collect: Derived[Self] = Derived("COLLECT", "All values as a multiset.")
    array_agg: Derived[Self] = Derived("ARRAY_AGG", "All values as an array.")

    def list_agg(self, separator: Any = None) -> Self:
        """All values as one text, with separators."""
        return self._apply("LISTAGG", said(separator))

    def over(self, alias: Any) -> Self:
        """The aggregate over the rows of a window that over_window() has named."""
        node = self._node
        name = alias if isinstance(alias, str) else _window_name(node_of(alias))
        if not isinstance(node, un.Apply | un.UserApply):
            raise TypeMismatch("over() follows an aggregate", origin=calling_origin())
        return self.__class__(replace(node, over=un.OverSpec(window=name, at=node.at)))

    def alias(self, name: str, *extra_names: str) -> Self:
        """The same by another name; a table function's columns by several."""
        return self._made(un.Alias(self._node, name, tuple(extra_names)))

    def as_argument(self, name: str) -> Self:
        """The argument of a function by its name."""
        return self._made(un.NamedArgument(name, self._node))

    def cast(self, data_type: DataType | str) -> Self:
        """As another type; it is an error where the value does not fit."""
        return self._made(un.CastTo(self._node, logical_type_of(data_type)))

    def try_cast(self, data_type: DataType | str) -> Self:
        """As another type; NULL where the value does not fit."""
        return self._made(un.CastTo(self._node, logical_type_of(data_type), safe=True))

    asc: Derived[Self] = Derived(lambda e: e._made(un.SortItem(e.node)), "In ascending order.")
    desc: Derived[Self] = Derived(
        lambda e: e._made(un.SortItem(e.node, ascending=False)), "In descending order."
    )

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Self:
        """Whether it is among some values, or in a table of one column."""
        relation = getattr(first_element_or_table, "relation", None)
        if relation is not None:
            return self._made(un.SubqueryIn(self._node, relation))
        return self._apply("IN", first_element_or_table, *remaining_elements)


def _window_name(node: un.Unresolved) -> str:
    if not isinstance(node, un.Name):
        raise TypeMismatch("over() takes the alias of a window", origin=calling_origin())
    return str(node)
