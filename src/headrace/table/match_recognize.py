"""Patterns of rows in the Table API: what Table.match_recognize() is given.

A variable stands for the rows it is matched to; `variable("B").price` is B.price of SQL:

>>> b = variable("B")
>>> str(b.price < last(b.price, 1))
'LESS_THAN(B.price, LAST(B.price, 1))'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from headrace.core.time import Duration
from headrace.errors import TypeMismatch
from headrace.graph.relations import Relation
from headrace.origin import calling_origin
from headrace.sql import unresolved as un
from headrace.sql.match_recognize import match_recognize
from headrace.sql.match_recognize_clause import MatchClause, clause_tree
from headrace.table.expression import Expression
from headrace.table.expression_base import expression_node, node_of, nodes_of
from headrace.table.table_building import Building

__all__ = [
    "PatternVariable",
    "classifier",
    "final",
    "first",
    "last",
    "match_number",
    "match_proctime",
    "match_rowtime",
    "next_",
    "prev",
    "row_count",
    "running",
    "variable",
]

Made = Expression[Any]


class PatternVariable:
    """The rows of a variable of a pattern, or of a subset; columns are attributes or items."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, column: str) -> Made:
        if column.startswith("__"):
            raise AttributeError(column)
        return self[column]

    def __getitem__(self, column: str) -> Made:
        return Expression(un.Name((self._name, column), at=calling_origin()))

    def __repr__(self) -> str:
        return f"variable({self._name!r})"


def variable(name: str) -> PatternVariable:
    """A variable of the pattern. A column of it is the one of its last row, as in SQL."""
    if not isinstance(name, str) or not name:
        raise TypeMismatch(f"variable() takes a name, not {name!r}", origin=calling_origin())
    return PatternVariable(name)


def _apply(function: str, *arguments: Any) -> Made:
    given = tuple(node_of(argument) for argument in arguments)
    return Expression(un.Apply(function, given, at=calling_origin()))


def first(expression: Any, offset: int = 0) -> Made:
    """Of the variable's first row, or of the row so many after it."""
    return _apply("FIRST", expression, offset)


def last(expression: Any, offset: int = 0) -> Made:
    """Of the variable's last row, or of the row so many before it."""
    return _apply("LAST", expression, offset)


def prev(expression: Any, offset: int = 1) -> Made:
    """Of the row so many before, whichever variable that row belongs to."""
    return _apply("PREV", expression, offset)


def next_(expression: Any, offset: int = 1) -> Made:
    """Of the row so many after, whichever variable that row belongs to."""
    return _apply("NEXT", expression, offset)


def running(expression: Any) -> Made:
    """As of the row in question."""
    return _apply("RUNNING", expression)


def final(expression: Any) -> Made:
    """As of the last row of the match."""
    return _apply("FINAL", expression)


def row_count(of: PatternVariable | None = None) -> Made:
    """How many rows a variable has in the match; without one, how many the match has."""
    qualifier = () if of is None else (_variable_name(of),)
    return _apply("COUNT", un.Star(qualifier, at=calling_origin()))


def classifier(of: PatternVariable | None = None) -> Made:
    """The name of the variable that the last row belongs to, of all rows or of a subset."""
    return _apply("CLASSIFIER", *(() if of is None else (un.Name((_variable_name(of),)),)))


def match_number() -> Made:
    """The number of the match in its partition, from 1 on."""
    return _apply("MATCH_NUMBER")


def match_rowtime(time: Any = None) -> Made:
    """The event time of the match, a time attribute."""
    return _apply("MATCH_ROWTIME", *(() if time is None else (time,)))


def match_proctime() -> Made:
    """The processing time of the match, a time attribute."""
    return _apply("MATCH_PROCTIME")


def _variable_name(given: Any) -> str:
    if isinstance(given, PatternVariable):
        return given._name
    raise TypeMismatch(
        f"a variable is needed, not {given!r}", origin=calling_origin(), hint='variable("A")'
    )


def matched(
    building: Building, *, pattern: str, define: Mapping[str, Any], measures: Mapping[str, Any],
    order_by: Any, partition_by: Any, rows_per_match: str | None, after_match: str | None,
    within: Any, subsets: Mapping[str, Sequence[str]] | None,
) -> Relation:  # fmt: skip
    """The matches of a pattern in the rows of a relation."""
    for argument, text in (("pattern", pattern), ("rows_per_match", rows_per_match),
                           ("after_match", after_match)):  # fmt: skip
        if not isinstance(text, str) and (text is not None or argument == "pattern"):
            raise TypeMismatch(
                f"{argument} of match_recognize() is text, not {text!r}", origin=calling_origin(),
                hint='For example pattern="A B+ C", after_match="SKIP PAST LAST ROW".',
            )  # fmt: skip
    clause = MatchClause(
        partition_by=nodes_of(_several(partition_by), "match_recognize"),
        order_by=[_sorted(node) for node in nodes_of(_several(order_by), "match_recognize")],
        measures=_by_name(measures, "measures"),
        rows=rows_per_match,
        after_match=after_match,
        pattern=pattern,
        within=None if within is None else _interval(within),
        subsets=_subsets(subsets or {}),
        define=_by_name(define, "define"),
        at=calling_origin(),
    )
    return match_recognize(clause_tree(clause), building.relation, building.resolver())


def _several(given: Any) -> Sequence[Any]:
    return given if isinstance(given, list | tuple) else (given,)


def _sorted(node: un.Unresolved) -> un.SortItem:
    return node if isinstance(node, un.SortItem) else un.SortItem(node, at=node.at)


def _interval(given: Any) -> un.Unresolved:
    if isinstance(given, Duration):
        given = timedelta(milliseconds=given.to_millis())
    return node_of(given)


def _by_name(given: Any, argument: str) -> dict[str, un.Unresolved]:
    if not isinstance(given, Mapping):
        raise TypeMismatch(
            f"{argument} of match_recognize() is a dictionary, not {given!r}",
            origin=calling_origin(),
            hint='measures={"name": expression}, define={"variable": condition}',
        )
    return {name: expression_node(each, "match_recognize") for name, each in given.items()}


def _subsets(given: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    for name, variables in given.items():
        if isinstance(variables, str) or not all(isinstance(each, str) for each in variables):
            raise TypeMismatch(
                f"subset {name} of match_recognize() is a list of variables' names, not "
                f"{variables!r}",
                origin=calling_origin(), hint=f'subsets={{"{name}": ["A", "B"]}}',
            )  # fmt: skip
    return dict(given)
