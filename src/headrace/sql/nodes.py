"""Parts of a parsed query that sqlglot has no class for, and where any part was written.

A query is a tree of sqlglot's classes in these shapes; scalar expressions inside are turned into
unresolved ones by `headrace.sql.to_unresolved.unresolved`.

| part | shape |
|---|---|
| query | `exp.Select`, `exp.Union` / `Intersect` / `Except` (this, expression, distinct), `exp.Values` (`exp.Tuple` rows), or in parentheses `exp.Subquery`; each may have `with_`, `order`, `limit`, `offset` |
| `exp.Select` | `expressions` (scalars, `exp.Alias`), `distinct`, `hint`, `from_` (`exp.From`), `joins`, `where`, `group`, `having`, `qualify`, `windows` (`exp.Alias` of `OverClause`) |
| WITH | `exp.With` (`recursive`) of `exp.CTE` (this, alias) |
| table | `exp.Table` (this, db, catalog, `version`: scalar after FOR SYSTEM_TIME AS OF, `hints`), `exp.Subquery`, `exp.TableFromRows` (this: `FunctionCall`), `exp.Lateral` (this: `FunctionCall` or query), `exp.Unnest` (expressions, `offset`: WITH ORDINALITY), `MatchRecognize`; each with `alias` (`exp.TableAlias`: this, columns) and perhaps `joins` of its own, which come before those around it |
| `exp.Join` | `this`, `kind` ("INNER", "CROSS", "COMMA"), `side` ("LEFT", "RIGHT", "FULL"), `method` ("NATURAL"), `on`, `using` (identifiers) |
| GROUP BY | `exp.Group.expressions`: scalars, `exp.Tuple`, `exp.GroupingSets`, `exp.Cube`, `exp.Rollup` |
| ORDER BY | `exp.Order` of `exp.Ordered` (this, `desc`, `nulls_first`: None where not said) |
| hints | `exp.Hint` of `HintCall` |
"""  # noqa: E501

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp

from headrace.sql.position import Position


class CompoundName(exp.Expression):
    """`a`, `t.a`, `catalog.database.t.a.field`: identifiers; the last may be `exp.Star`."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class TimeLiteral(exp.Expression):
    """DATE '…', TIME '…', TIMESTAMP '…'; `kind` is the keyword, `this` the text."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class IntervalLiteral(exp.Expression):
    """INTERVAL '…' unit [TO unit]; `this` is the text with its sign."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "unit": True,
        "precision": False,
        "to": False,
        "scale": False,
    }


class TypeName(exp.Expression):
    """A type: `this` is its name, `parameters` numbers, `expressions` types or `TypeField`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "parameters": False,
        "expressions": False,
        "nullable": False,
        "resolution": False,
    }


class TypeField(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "comment": False}


class FunctionCall(exp.Expression):
    """A call; `path` are the identifiers before the name."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "path": False,
        "expressions": False,
        "star": False,
        "distinct": False,
        "order": False,
        "filter": False,
        "over": False,
        "ignore_nulls": False,
    }


class OverClause(exp.Expression):
    """What a window is over: a name, or its parts."""

    arg_types: ClassVar[dict[str, bool]] = {
        "window": False,
        "partition_by": False,
        "order": False,
        "unit": False,
        "start": False,
        "end": False,
    }


class FrameEdge(exp.Expression):
    """`kind` is "preceding", "following" or "current"; no `this`: unbounded."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": False}


class Descriptor(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class TableParameter(exp.Expression):
    """TABLE t PARTITION BY … ORDER BY … as an argument; `this` is a table or query."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "partition_by": False, "order": False}


class ModelParameter(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Default(exp.Expression):
    """DEFAULT as an argument or a value."""

    arg_types: ClassVar[dict[str, bool]] = {}


class RowConstructor(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"expressions": False}


class ItemAccess(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "index": True}


class FieldAccess(exp.Expression):
    arg_types: ClassVar[dict[str, bool]] = {"this": True, "field": True}


class Operation(exp.Expression):
    """An operator by the name of its function, such as IS_NULL or SIMILAR."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "expressions": True}


class Comparison(exp.Expression):
    """`this` `operator` SOME|ALL (query)."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "operator": True,
        "query": True,
        "every": False,
    }


class CollectionQuery(exp.Expression):
    """ARRAY(query), MAP(query), MULTISET(query)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True}


class HintCall(exp.Expression):
    """A hint's name with `options` (pairs of texts) or `expressions` (texts)."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "options": False, "expressions": False}

    @property
    def pairs(self) -> dict[str, str]:
        return dict(self.args.get("options") or ())

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(self.args.get("expressions") or ())


class Given(exp.Expression):
    """A scalar expression that was made without text: `this` is an unresolved one."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class MatchRecognize(exp.Expression):
    """`this` is the table; `measures` and `define` are `exp.Alias`; `pattern` is a
    `PatternPart`; `rows` "ONE ROW PER MATCH" or "ALL ROWS PER MATCH"."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "partition_by": False,
        "order": False,
        "measures": False,
        "rows": False,
        "skip": False,
        "pattern": True,
        "within": False,
        "subsets": False,
        "define": True,
        "alias": False,
        "joins": False,
    }


class MatchSkip(exp.Expression):
    """AFTER MATCH SKIP; `kind`: "past_last", "to_next", "to_first", "to_last"."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "this": False}


class PatternPart(exp.Expression):
    """`kind`: "variable" (this), "sequence", "alternation", "permute", "exclusion" (expressions),
    "anchor" (at_end); with a quantifier `low`, `high` (None: without end), `reluctant`."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": False,
        "expressions": False,
        "low": False,
        "high": False,
        "reluctant": False,
        "at_end": False,
    }


def mark(node: exp.Expr, text: str, start: int, end: int) -> None:
    """Note that a node was written from `start` to, and including, `end`."""
    meta = node.meta
    meta["sql"], meta["start"], meta["end"] = text, start, end


def mark_origin(node: exp.Expr, origin: object | None) -> None:
    """Note where the program made a node."""
    node.meta["origin"] = origin


def given(expression: Any, origin: object | None) -> Given:
    """A node for an unresolved expression."""
    node = Given(this=expression)
    mark_origin(node, origin)
    return node


def position_of(node: exp.Expr | None) -> Position | None:
    """Where a part of a query was written; of a part made without text, where its parts were."""
    if node is None:
        return None
    for part in node.walk():
        meta = part.meta
        if "origin" in meta:
            made: Position | None = meta["origin"]
            return made
        if "sql" in meta:
            return Position.at_offset(meta["sql"], meta["start"], meta["end"] + 1)
    return None


def text_of(node: exp.Expr) -> str:
    """The part as it was written."""
    meta = node.meta
    return str(meta["sql"][meta["start"] : meta["end"] + 1])
