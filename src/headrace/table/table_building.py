"""From expressions of the Table API to relations: what Table's methods are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import AggregateCall, Column, Expression, TableCall, UserFunction
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery, TypeMismatch
from headrace.graph.relations import Project, Relation, Sort, TableAggregate, Window
from headrace.origin import calling_origin
from headrace.sql import functions
from headrace.sql import unresolved as un
from headrace.sql.constants import constant_of
from headrace.sql.correlation import correlated, table_call
from headrace.sql.functions.construction import field_of
from headrace.sql.group_windows import WINDOW_PROPERTIES, group_window_mark
from headrace.sql.marks import GroupWindowMark
from headrace.sql.queries import QueryBuilder
from headrace.sql.relations import columns, joined, projected, renamed
from headrace.sql.resolve_calls import result_type, user_arguments
from headrace.sql.resolver import Resolver
from headrace.sql.scope import Range, Scope
from headrace.sql.selection import GroupBy, Selection, select
from headrace.sql.user_functions import user_aggregate
from headrace.table.column_choice import Chosen, is_window_property, named_items
from headrace.table.window import GroupWindow
from headrace.table.window_bounds import RowInterval


@dataclass(frozen=True)
class Grouped:
    """What rows are grouped by."""

    keys: tuple[un.Unresolved, ...] = ()
    window: GroupWindow | None = None


@dataclass(frozen=True)
class Building:
    """Builds on one relation."""

    builder: QueryBuilder
    relation: Relation
    windows: Mapping[str, un.OverSpec] = field(default_factory=dict)
    """Windows of over_window() by name."""

    def resolver(self, window: GroupWindow | None = None) -> Resolver:
        scope = Scope.of(self.relation)
        resolver = self.builder.resolver(scope, self.windows)
        if window is None:
            return resolver
        merged = {window.name: window_mark(resolver, window)}
        return replace(resolver, scope=replace(scope, merged=merged))

    def chosen(self, resolver: Resolver | None = None) -> Chosen:
        known = resolver or self.resolver()
        return Chosen(self.relation.names, lambda node: known.resolve(node).type)

    def node(self, node: un.Unresolved) -> un.Unresolved:
        """One expression with choices of columns written out."""
        made: un.Unresolved = self.chosen().whole(node)
        return made

    def expression(self, node: un.Unresolved) -> Expression:
        return self.resolver().resolve(self.node(node))

    # SELECT.

    def selected(self, nodes: Sequence[un.Unresolved], grouped: Grouped | None = None) -> Relation:
        resolver = self.resolver(None if grouped is None else grouped.window)
        items = named_items(self.chosen(resolver).items(nodes), self.is_aggregate)
        _check_unique([_shown_name(item) for item in items], items)
        keys = None if grouped is None else GroupBy(grouped.keys)
        return select(self.relation, resolver, Selection(items, keys))

    def is_aggregate(self, node: un.Unresolved) -> bool:
        """Whether it is an aggregate of groups, or a property of their window."""
        if is_window_property(node):
            return True
        if isinstance(node, un.UserApply):
            return node.over is None and node.function.kind == "aggregate"
        if not isinstance(node, un.Apply) or node.over is not None:
            return False
        user = self.builder.user_function((*node.path, node.function))
        if user is not None:
            return user.kind == "aggregate"
        row = functions.find(node.function)
        return row is not None and row.kind == "aggregate"

    def with_keys(self, nodes: Sequence[un.Unresolved]) -> tuple[Relation, tuple[Any, ...]]:
        """The relation with a column for each key that has a name of its own; and the keys."""
        items = self.chosen().items(nodes)
        aliased = [item for item in items if isinstance(item, un.Alias)]
        relation = self.relation
        if aliased:
            _check_unique([*relation.names, *(item.name for item in aliased)], aliased)
            relation = select(relation, self.resolver(), Selection((un.Star(), *aliased)))
        keys = [
            un.Name((item.name,), at=item.at) if isinstance(item, un.Alias) else item
            for item in items
        ]
        return relation, tuple(keys)

    def ordered(self, items: Sequence[un.SortItem]) -> Relation:
        written = tuple(replace(each, operand=self.node(each.operand)) for each in items)
        whole = Selection((un.Star(),), order_by=written)
        return select(self.relation, self.resolver(), whole)

    # Functions that give rows.

    def correlated(
        self, node: un.Unresolved, kind: str, condition: un.Unresolved | None = None
    ) -> Relation:
        """Each row with the rows a table function makes of it."""
        call = self._table_call(node)
        _check_apart(self.relation.names, [each.name for each in call.fields], node.at)
        on = None
        if condition is not None:
            scope = Scope.of(self.relation)
            more = Range((), tuple(call.fields), len(self.relation.schema))
            both = replace(scope, ranges=(*scope.ranges, more))
            on = self.builder.resolver(both).within("a join").condition(condition)
        return correlated(self.relation, call, kind, on)

    def _table_call(self, node: un.Unresolved) -> TableCall:
        names: tuple[str, ...] = ()
        if isinstance(node, un.Alias):
            names, node = (node.name, *node.more), node.operand
        if not isinstance(node, un.Apply | un.UserApply):
            raise InvalidQuery("this is no call of a table function", origin=node.at)
        return table_call(self.resolver(), self.node(node), names)  # type: ignore[arg-type]

    def flat_mapped(self, node: un.Unresolved) -> Relation:
        """Only the rows that a table function makes of each row."""
        call = self._table_call(node)
        made = correlated(self.relation, call)
        width = len(self.relation.schema)
        return projected(made, columns(made)[width:], [each.name for each in call.fields])

    def joined(self, right: Relation, kind: str, condition: un.Unresolved | None) -> Relation:
        at = None if condition is None else condition.at
        _check_apart(self.relation.names, right.names, at or calling_origin())
        scope = Scope.of(self.relation).beside(Scope.of(right))
        resolver = self.builder.resolver(scope).within("a join")
        on = None if condition is None else resolver.condition(condition)
        return joined(self.relation, right, kind, on)

    def mapped(self, node: un.Unresolved) -> Relation:
        """One call for each row, whose row's fields are the columns."""
        names: tuple[str, ...] = ()
        if isinstance(node, un.Alias):
            names, node = (node.name, *node.more), node.operand
        value = self.expression(node)
        column = projected(self.relation, [value], ["f0"])
        return flattened(column, 0, names)

    def grouped_rows(self, node: un.Unresolved, grouped: Grouped) -> Relation:
        """aggregate(): the keys, the window's bounds, and the fields of the function's row."""
        names: tuple[str, ...] = ()
        if isinstance(node, un.Alias):
            names, node = (node.name, *node.more), node.operand
        window = grouped.window
        keys = [key for key in grouped.keys if window is None or str(key) != window.name]
        bounds = [] if window is None else window_items(window, self.resolver(window))
        resolver = self.resolver(window)
        value = self._with_row(self.chosen(resolver).whole(node))
        items = [*keys, *bounds, un.Alias(value, "TMP_0")]
        made = select(self.relation, resolver, Selection(tuple(items), GroupBy(grouped.keys)))
        return flattened(made, len(keys) + len(bounds), names, "TMP_0$")

    def _with_row(self, node: un.Unresolved) -> un.Unresolved:
        """A function that takes the whole row with the row written out: the window is no column."""
        if not isinstance(node, un.UserApply) or node.arguments or not node.function.takes_row:
            return node
        names = self.relation.names
        items = tuple(un.Name((name,), at=node.at) for name in names)
        return replace(node, arguments=(un.RowOf(items, names, at=node.at),))

    def table_aggregated(
        self, user: UserFunction, node: un.UserApply, names: Sequence[str], grouped: Grouped
    ) -> Relation:
        """flat_aggregate(): the keys, then the function's columns."""
        resolver = self.resolver()
        keys = [resolver.resolve(key) for key in grouped.keys]
        if not all(isinstance(key, Column) for key in keys):
            raise InvalidQuery(
                "flat_aggregate() groups by columns", origin=node.at,
                hint="Give the key a name: group_by((…).alias('k')).",
            )  # fmt: skip
        arguments = user_arguments(resolver, user, self.node(node).arguments, node.at)  # type: ignore[attr-defined]
        type = result_type(user, node.at)
        call = AggregateCall(type, user_aggregate(user), arguments, user=user)
        places = tuple(key.index for key in keys if isinstance(key, Column))
        own = type.fields if isinstance(type, lt.RowType) else (Field("f0", type),)
        if names:
            _check_count(names, own, node.at)
            own = tuple(replace(each, name=name) for each, name in zip(own, names, strict=True))
        found = [replace(self.relation.schema[at], type=lt.materialized(self.relation.types[at]))
                 for at in places]  # fmt: skip
        _check_apart([each.name for each in found], [each.name for each in own], node.at)
        return TableAggregate(schema=(*found, *own), input=self.relation, keys=places, call=call)


def flattened(relation: Relation, at: int, names: Sequence[str] = (), before: str = "") -> Relation:
    """The column at a place, if it is a row, as columns of its own."""
    own = columns(relation)
    type = relation.types[at]
    if not isinstance(type, lt.RowType):
        if not names:
            return relation
        _check_count(names, (relation.schema[at],), None)
        shown = [*relation.names[:at], *names, *relation.names[at + 1 :]]
        return renamed(relation, shown)
    if names:
        _check_count(names, type.fields, None)
    parts = [field_of(own[at], each.name, None) for each in type.fields]
    shown = list(names) or [before + each.name for each in type.fields]
    return projected(
        relation, [*own[:at], *parts, *own[at + 1 :]],
        [*relation.names[:at], *shown, *relation.names[at + 1 :]],
    )  # fmt: skip


def window_mark(resolver: Resolver, window: GroupWindow) -> GroupWindowMark:
    """What a group window's name means."""
    if not window.counts_rows:
        node = un.Apply(window.kind, (window.time, *window.lengths), at=window.time.at)
        mark = group_window_mark(resolver, window.kind, node)
        assert isinstance(mark, GroupWindowMark)
        return mark
    time = resolver.resolve(window.time)
    if window.kind == "SESSION" or not lt.is_proctime(time.type):
        raise InvalidQuery(
            "windows of a number of rows are tumbling or sliding ones over processing time",
            origin=window.time.at, hint="Use a column AS PROCTIME().",
        )  # fmt: skip
    sizes = [_rows(resolver, each) for each in window.lengths]
    made = Window("count_tumble", sizes[0])
    if window.kind == "HOP":
        made = Window("count_slide", sizes[1], sizes[0])
    return GroupWindowMark(time.type, made, time, at=window.time.at)


def _rows(resolver: Resolver, node: un.Unresolved) -> int:
    if isinstance(node, RowInterval):
        return node.rows
    return int(constant_of(resolver.resolve(node), "a window's length", node.at))


def window_items(window: GroupWindow, resolver: Resolver) -> list[un.Unresolved]:
    """The bounds of a window as items of SELECT, by the names that `without_window` uses."""
    mark = resolver.scope.merged[window.name]
    assert isinstance(mark, GroupWindowMark)
    wanted = ["WINDOW_START", "WINDOW_END"]
    if not lt.is_proctime(mark.time.type):
        wanted.append("WINDOW_ROWTIME")
    if window.counts_rows:
        wanted = []
    name = un.Name((window.name,))
    return [un.Alias(un.Apply(each, (name,)), _bound_name(window.name, each)) for each in wanted]


def _bound_name(window: str, property: str) -> str:
    return f"{window}${property.removeprefix('WINDOW_').lower()}"


def without_window(node: Any, window: str) -> Any:
    """An expression over groups by window as one over the columns of `window_items`."""
    if isinstance(node, tuple):
        return tuple(without_window(each, window) for each in node)
    if not isinstance(node, un.Unresolved):
        return node
    if isinstance(node, un.Apply) and node.function in WINDOW_PROPERTIES:
        return un.Name((_bound_name(window, node.function),), at=node.at)
    changes = {
        name: without_window(value, window) for name, value in vars(node).items() if name != "at"
    }
    return replace(node, **changes)


def cut(relation: Relation, offset: int | None, fetch: int | None) -> Relation:
    """Some of the rows: of a sorted relation, in its order."""
    if isinstance(relation, Sort) and relation.fetch is None:
        first = relation.offset if offset is None else offset
        return replace(relation, offset=first, fetch=fetch)
    if isinstance(relation, Project) and isinstance(relation.input, Sort):
        return replace(relation, input=cut(relation.input, offset, fetch))
    return Sort(schema=relation.schema, input=relation, keys=(), offset=offset or 0, fetch=fetch)


def _shown_name(item: un.Unresolved) -> str:
    return item.name if isinstance(item, un.Alias) else str(item)


def _check_unique(names: Sequence[str], items: Sequence[un.Unresolved]) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            at = items[index - len(names)].at if index >= len(names) - len(items) else None
            raise InvalidQuery(
                f"ambiguous column name: {name}", origin=at, hint="Give one an alias('…')."
            )


def _check_apart(left: Sequence[str], right: Sequence[str], at: object | None) -> None:
    shared = [name for name in right if name in left]
    if shared:
        raise InvalidQuery(
            f"both sides have columns called {', '.join(shared)}", origin=at,
            hint="Rename them first: rename_columns(col('a').alias('b')).",
        )  # fmt: skip


def _check_count(names: Sequence[str], fields: Sequence[Field], at: object | None) -> None:
    if len(names) != len(fields):
        raise InvalidQuery(
            f"{len(names)} names are given for {len(fields)} columns", origin=at or calling_origin()
        )


def function_node(
    given: Any, kinds: tuple[str, ...], method: str
) -> tuple[UserFunction | None, un.Unresolved]:
    """A call, or a function of the user that takes the whole row."""
    wrapper: Callable[..., UserFunction] | None = getattr(given, "user_function", None)
    if wrapper is None:
        node = getattr(given, "node", None)
        if node is None:
            raise TypeMismatch(
                f"{method}() takes a call or a function made with udf() and its kin, not {given!r}",
                origin=calling_origin(),
            )
        return None, node
    user = wrapper(takes_row=True)
    if user.kind not in kinds:
        raise TypeMismatch(
            f"{method}() takes a {' or '.join(kinds).replace('_', ' ')} function, {user.name} is "
            f"a {user.kind.replace('_', ' ')} function",
            origin=calling_origin(),
        )
    node = un.UserApply(user, (), at=calling_origin())
    names = getattr(given, "alias_names", ())
    return user, un.Alias(node, names[0], tuple(names[1:]), at=node.at) if names else node
