"""Which columns a name may mean at some place of a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headrace.core.expressions import Column, Expression, Outer
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery
from headrace.graph.relations import Relation
from headrace.sql.position import did_you_mean


@dataclass(frozen=True)
class Range:
    """A table of FROM: what it is called and where its columns are in the row."""

    name: tuple[str, ...]
    """The alias, or the table's whole path; () has no name."""
    fields: tuple[Field, ...]
    first: int = 0

    def is_called(self, qualifier: tuple[str, ...]) -> bool:
        return bool(qualifier) and self.name[-len(qualifier) :] == qualifier

    def columns(self) -> Iterator[tuple[str, Column]]:
        for index, column in enumerate(self.fields):
            yield column.name, Column(column.type, self.first + index)

    def different_columns(self, at: object | None) -> Iterator[tuple[str, Column]]:
        """The columns, of which no two may have one name."""
        names = [column.name for column in self.fields]
        for name, column in self.columns():
            if names.count(name) > 1:
                raise twice(name, at)
            yield name, column


@dataclass(frozen=True)
class Scope:
    """The tables of a query's FROM clause, and the queries around it."""

    ranges: tuple[Range, ...]
    outer: Scope | None = None
    merged: Mapping[str, Expression] = field(default_factory=dict)
    """Columns that JOIN … USING made one of two."""

    @classmethod
    def of(cls, relation: Relation, *name: str, outer: Scope | None = None) -> Scope:
        return cls((Range(tuple(name), fields_as_written(relation)),), outer)

    @property
    def width(self) -> int:
        return sum(len(each.fields) for each in self.ranges)

    def beside(self, right: Scope) -> Scope:
        """Both scopes' tables, those of `right` after these."""
        width = self.width
        moved = tuple(replace(each, first=each.first + width) for each in right.ranges)
        return replace(self, ranges=(*self.ranges, *moved))

    def with_schema(self, schema: tuple[Field, ...]) -> Scope:
        """The same names for columns whose types changed, such as to nullable."""
        ranges = tuple(
            replace(
                each,
                fields=tuple(
                    replace(column, type=schema[each.first + index].type)
                    for index, column in enumerate(each.fields)
                ),
            )
            for each in self.ranges
        )
        return replace(self, ranges=ranges)

    def find(self, parts: tuple[str, ...], at: object | None) -> tuple[Expression, tuple[str, ...]]:
        """The column that a name means, and the rest of the name: fields inside of it."""
        scope: Scope | None = self
        depth = 0
        while scope is not None:
            found = scope._own(parts, at)
            if found is not None:
                column, rest = found
                return (_outer(column, depth) if depth else column), rest
            scope, depth = scope.outer, depth + 1
        raise self._unknown(parts, at)

    def _own(
        self, parts: tuple[str, ...], at: object | None
    ) -> tuple[Expression, tuple[str, ...]] | None:
        for length in range(len(parts) - 1, 0, -1):
            tables = [each for each in self.ranges if each.is_called(parts[:length])]
            for table in tables:
                columns = [column for name, column in table.columns() if name == parts[length]]
                if len(columns) > 1:
                    raise twice(parts[length], at)
                if columns:
                    return columns[0], parts[length + 1 :]
        if parts[0] in self.merged:
            return self.merged[parts[0]], parts[1:]
        candidates = [
            (table, column)
            for table in self.ranges
            for name, column in table.columns()
            if name == parts[0]
        ]
        if len({column.index for _, column in candidates}) > 1:
            if all(table is candidates[0][0] for table, _ in candidates):
                raise twice(parts[0], at)
            listed = ", ".join(".".join(table.name) or "a subquery" for table, _ in candidates)
            raise InvalidQuery(
                f"column {parts[0]} is ambiguous: it is in {listed}", origin=at,
                hint="write the table's name or alias before it",
            )  # fmt: skip
        return (candidates[0][1], parts[1:]) if candidates else None

    def _unknown(self, parts: tuple[str, ...], at: object | None) -> InvalidQuery:
        scope: Scope | None = self
        while scope is not None:
            for length in range(len(parts) - 1, 0, -1):
                for table in scope.ranges:
                    if table.is_called(parts[:length]):
                        return _no_column(parts[length], table, at)
            scope = scope.outer
        names = [name for each in self._all() for name, _ in each.columns()]
        if len(parts) > 1:
            tables = [each.name[-1] for each in self._all() if each.name]
            hint = did_you_mean(parts[0], [*tables, *names])
            name = ".".join(parts)
            return InvalidQuery(f"there is no table or column for {name}", origin=at, hint=hint)
        known = f"columns here are {', '.join(dict.fromkeys(names))}" if names else None
        hint = did_you_mean(parts[0], names, known)
        return InvalidQuery(f"column {parts[0]} not found in any table", origin=at, hint=hint)

    def _all(self) -> Iterator[Range]:
        scope: Scope | None = self
        while scope is not None:
            yield from scope.ranges
            scope = scope.outer

    def has_table(self, name: tuple[str, ...]) -> bool:
        """Whether a table of FROM is called so."""
        return any(each.is_called(name) for each in self.ranges)

    def star(self, qualifier: tuple[str, ...], at: object | None) -> list[tuple[str, Expression]]:
        """What `*` or `t.*` stands for: names and columns."""
        if not qualifier:
            named: list[tuple[str, Expression]] = list(self.merged.items())
            columns = [pair for each in self.ranges for pair in each.different_columns(at)]
            return named + [pair for pair in columns if pair[0] not in self.merged]
        for each in self.ranges:
            if each.is_called(qualifier):
                return list(each.different_columns(at))
        names = [each.name[-1] for each in self.ranges if each.name]
        raise InvalidQuery(
            f"there is no table {'.'.join(qualifier)} here", origin=at,
            hint=did_you_mean(qualifier[-1], names),
        )  # fmt: skip


def fields_as_written(relation: Relation) -> tuple[Field, ...]:
    """A relation's columns by the names its query gives them."""
    names = relation.written or relation.names
    pairs = zip(relation.schema, names, strict=True)
    return tuple(replace(column, name=name) for column, name in pairs)


def check_names_differ(names: Sequence[str], at: object | None) -> None:
    """Refuse a list of columns in which a name is given twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InvalidQuery(
                f"two columns are called {name}", origin=at, hint="give each a name of its own"
            )


def twice(name: str, at: object | None) -> InvalidQuery:
    """A table that has two columns of one name, of which one is meant."""
    return InvalidQuery(
        f"column {name} is ambiguous: a subquery has two columns of this name", origin=at,
        hint="give them different names there, with AS",
    )  # fmt: skip


def _outer(column: Expression, depth: int) -> Expression:
    assert isinstance(column, Column | Outer)
    return Outer(column.type, column.index, depth)


def _no_column(name: str, table: Range, at: object | None) -> InvalidQuery:
    names = [column.name for column in table.fields]
    message = f"column {name} not found in table {'.'.join(table.name)}"
    hint = did_you_mean(name, names, f"its columns are {', '.join(names)}")
    return InvalidQuery(message, origin=at, hint=hint)
