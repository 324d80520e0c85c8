"""Scalar expressions of a parsed query as unresolved ones.

Queries inside (IN, EXISTS, scalar subqueries, tables handed to functions) stay sqlglot trees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from headrace.errors import InvalidQuery
from headrace.sql import nodes
from headrace.sql import unresolved as un
from headrace.sql.dialect import parse_expression
from headrace.sql.nodes import position_of
from headrace.sql.to_literals import binary, interval, number, text_value, time_value
from headrace.sql.types import logical_type

__all__ = ["over_spec", "parse_scalar", "sort_items", "unresolved", "unresolved_all"]


def unresolved(node: exp.Expr) -> un.Unresolved:
    """A scalar expression, with aliases and stars where a select list has them."""
    convert = _CONVERSIONS.get(type(node))
    if convert is None:
        raise InvalidQuery(f"{type(node).__name__} is not an expression", origin=position_of(node))
    return convert(node)


def parse_scalar(text: str) -> un.Unresolved:
    """The expression that a text is, such as of a computed column."""
    return unresolved(parse_expression(text))


def unresolved_all(parts: Iterable[exp.Expr] | None) -> tuple[un.Unresolved, ...]:
    return tuple(unresolved(part) for part in parts or ())


def sort_items(parts: Iterable[exp.Expr] | exp.Order | None) -> tuple[un.SortItem, ...]:
    """The items of an ORDER BY, or of a list of `exp.Ordered`."""
    listed = parts.expressions if isinstance(parts, exp.Order) else parts or ()
    return tuple(
        un.SortItem(
            unresolved(part.this),
            ascending=not part.args.get("desc"),
            nulls_first=part.args.get("nulls_first"),
            at=position_of(part),
        )
        for part in listed
    )


def over_spec(node: nodes.OverClause) -> un.OverSpec:
    """What stands in OVER (…) or behind a name in WINDOW."""
    start, end = node.args.get("start"), node.args.get("end")
    return un.OverSpec(
        partition_by=unresolved_all(node.args.get("partition_by")),
        order_by=sort_items(node.args.get("order")),
        unit=node.args.get("unit"),
        start=None if start is None else _edge(start),
        end=None if end is None else _edge(end),
        window=node.args.get("window"),
        at=position_of(node),
    )


def _edge(node: exp.Expr) -> un.FrameBound:
    value = node.args.get("this")
    return un.FrameBound(
        node.args["kind"], None if value is None else unresolved(value), at=position_of(node)
    )


def _name(node: exp.Expr) -> un.Unresolved:
    parts = node.expressions
    if isinstance(parts[-1], exp.Star):
        return un.Star(tuple(part.name for part in parts[:-1]), at=position_of(node))
    return un.Name(tuple(part.name for part in parts), at=position_of(node))


def _operation(node: exp.Expr) -> un.Unresolved:
    """An operator; chains such as a OR b OR … are walked, not recursed into."""
    chain = [node]
    while isinstance(chain[-1].expressions[0], nodes.Operation):
        chain.append(chain[-1].expressions[0])
    found = unresolved(chain[-1].expressions[0])
    for part in reversed(chain):
        arguments = (found, *unresolved_all(part.expressions[1:]))
        found = un.Apply(str(part.this), arguments, at=position_of(part))
    return found


def _call(node: exp.Expr) -> un.Unresolved:
    function = node.this
    filtered, over = node.args.get("filter"), node.args.get("over")
    arguments = (un.Star(at=position_of(node)),) if node.args.get("star") else ()
    path = tuple(part.name for part in node.args.get("path") or ())
    plain = not function.args.get("quoted") and not path
    return un.Apply(
        function.name.upper() if plain else function.name,
        arguments or unresolved_all(node.expressions),
        distinct=bool(node.args.get("distinct")),
        filter=None if filtered is None else unresolved(filtered),
        order_by=sort_items(node.args.get("order")),
        over=None if over is None else over_spec(over),
        ignore_nulls=bool(node.args.get("ignore_nulls")),
        path=path,
        quoted=bool(function.args.get("quoted")),
        at=position_of(function),
    )


def _cast(node: exp.Expr) -> un.Unresolved:
    return un.CastTo(
        unresolved(node.this), logical_type(node.args["to"]), isinstance(node, exp.TryCast),
        at=position_of(node),
    )  # fmt: skip


def _case(node: exp.Expr) -> un.Unresolved:
    operand = node.args.get("this")
    branches = []
    for branch in node.args["ifs"]:
        condition = unresolved(branch.this)
        if operand is not None:
            equal = (unresolved(operand), condition)
            condition = un.Apply("EQUALS", equal, at=condition.at)
        branches.append((condition, unresolved(branch.args["true"])))
    default = node.args.get("default")
    otherwise = None if default is None else unresolved(default)
    return un.Case(tuple(branches), otherwise, at=position_of(node))


def _in_query(node: exp.Expr) -> un.Unresolved:
    negated = bool(node.args.get("negated"))
    return un.SubqueryIn(unresolved(node.this), node.args["query"], negated, at=position_of(node))


def _comparison(node: exp.Expr) -> un.Unresolved:
    return un.SubqueryCompare(
        unresolved(node.this), node.args["operator"], node.args["query"],
        bool(node.args.get("every")), at=position_of(node),
    )  # fmt: skip


def _table(node: exp.Expr) -> un.Unresolved:
    return un.TableArgument(
        node.this,
        unresolved_all(node.args.get("partition_by")),
        sort_items(node.args.get("order")),
        at=position_of(node),
    )


def _named(node: exp.Expr) -> un.Unresolved:
    value = node.expression
    return un.NamedArgument(
        node.this.name, None if isinstance(value, nodes.Default) else unresolved(value),
        at=position_of(node),
    )  # fmt: skip


def _descriptor(node: exp.Expr) -> un.Unresolved:
    names = tuple(".".join(part.name for part in name.expressions) for name in node.expressions)
    return un.Descriptor(names, at=position_of(node))


_CONVERSIONS: dict[type[exp.Expr], Callable[[exp.Expr], un.Unresolved]] = {
    nodes.CompoundName: _name,
    nodes.Given: lambda node: node.this,
    nodes.Operation: _operation,
    nodes.FunctionCall: _call,
    nodes.TimeLiteral: time_value,
    nodes.IntervalLiteral: interval,
    nodes.Comparison: _comparison,
    nodes.TableParameter: _table,
    nodes.Descriptor: _descriptor,
    nodes.Default: lambda node: un.NamedArgument("", None, at=position_of(node)),
    nodes.ModelParameter: lambda node: un.ModelArgument(
        tuple(part.name for part in node.expressions), at=position_of(node)
    ),
    nodes.RowConstructor: lambda node: un.RowOf(
        unresolved_all(node.expressions), at=position_of(node)
    ),
    nodes.ItemAccess: lambda node: un.Apply(
        "ITEM", (unresolved(node.this), unresolved(node.args["index"])), at=position_of(node)
    ),
    nodes.FieldAccess: lambda node: un.FieldOf(
        unresolved(node.this), str(node.args["field"]), at=position_of(node)
    ),
    nodes.CollectionQuery: lambda node: un.SubqueryCollection(
        str(node.args["kind"]), node.this, at=position_of(node)
    ),
    exp.Paren: lambda node: unresolved(node.this),
    exp.Literal: lambda node: text_value(node) if node.is_string else number(node),
    exp.HexString: binary,
    exp.Boolean: lambda node: un.Value(bool(node.this), at=position_of(node)),
    exp.Null: lambda node: un.Value(None, at=position_of(node)),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.In: _in_query,
    exp.Exists: lambda node: un.SubqueryExists(node.this, at=position_of(node)),
    exp.Subquery: lambda node: un.SubqueryScalar(node.this, at=position_of(node)),
    exp.Kwarg: _named,
    exp.Star: lambda node: un.Star(at=position_of(node)),
    exp.Alias: lambda node: un.Alias(
        unresolved(node.this), node.args["alias"].name, at=position_of(node)
    ),
}
