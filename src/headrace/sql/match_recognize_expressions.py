"""Expressions of MEASURES and DEFINE, which look at several rows of a match.

Columns qualified with a pattern variable are resolved as if the input had one set of columns for
each variable, and one without a name before them. What looks at rows becomes a `SlotMark`, and at
last a column of the slots of an `OverMatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, columns_of, shifted
from headrace.core.row_patterns import (
    Classifier,
    MatchTime,
    OverMatch,
    OverRows,
    RowAt,
    Slot,
    Variables,
)
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql import unresolved as un
from headrace.sql.calls import aggregate, call
from headrace.sql.constants import constant_of
from headrace.sql.marks import (
    AggregateMark,
    GroupWindowMark,
    OverMark,
    SubqueryMark,
    call_inputs,
    call_with_inputs,
    contains,
)
from headrace.sql.position import did_you_mean
from headrace.sql.resolver import Resolver
from headrace.sql.scope import Scope


@dataclass(frozen=True)
class SlotMark(Expression):
    """What an expression wants of the rows of a match."""

    slot: Slot


@dataclass(frozen=True)
class PatternScope(Scope):
    """The columns of the input, once for all rows and once for the rows of each variable."""

    variables: tuple[str, ...] = ()

    def _own(
        self, parts: tuple[str, ...], at: object | None
    ) -> tuple[Expression, tuple[str, ...]] | None:
        fields = self.ranges[0].fields
        names = [field.name for field in fields]
        if len(parts) > 1 and parts[0] in self.variables:
            if parts[1] not in names:
                raise InvalidQuery(
                    f"column {parts[1]} not found in the input of MATCH_RECOGNIZE", origin=at,
                    hint=did_you_mean(parts[1], names, f"its columns are {', '.join(names)}"),
                )  # fmt: skip
            index = names.index(parts[1])
            first = (1 + self.variables.index(parts[0])) * len(fields)
            return Column(fields[index].type, first + index), parts[2:]
        for length in range(len(parts) - 1, 0, -1):
            if self.ranges[0].is_called(parts[:length]):
                parts = parts[length:]
                break
        if parts[0] in names:
            index = names.index(parts[0])
            return Column(fields[index].type, index), parts[1:]
        if len(parts) > 1:
            known = f"its variables are {', '.join(self.variables)}"
            raise InvalidQuery(
                f"PATTERN has no variable {parts[0]}", origin=at,
                hint=did_you_mean(parts[0], self.variables, known),
            )  # fmt: skip
        return None


@dataclass(frozen=True)
class MatchResolver(Resolver):
    """Resolves the expressions of MEASURES, or the condition of a variable."""

    time_type: lt.LogicalType = lt.NULL
    defining: str | None = None
    """The variable whose condition it is; None: MEASURES."""
    mandatory: frozenset[str] = frozenset()
    """Variables that every match has rows of."""
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """SUBSET: names that stand for several variables."""

    @property
    def names(self) -> tuple[str, ...]:
        """What may stand before a column: variables, then subsets."""
        assert isinstance(self.scope, PatternScope)
        return self.scope.variables

    def named(self, name: str) -> tuple[str, ...]:
        """The variables that a name stands for."""
        return self.subsets.get(name, (name,))

    @property
    def width(self) -> int:
        return self.scope.width

    def resolve(self, node: un.Unresolved) -> Expression:
        if isinstance(node, un.Apply) and not node.path and not node.quoted:
            special = _SPECIAL.get(node.function.upper())
            if special is not None:
                return special(self, node)
            if _counts_rows_of_variable(node):
                return _count(self, node)
        found = super().resolve(node)
        if isinstance(found, AggregateMark):
            return self._over_rows(found, node)
        if isinstance(found, OverMark | SubqueryMark | GroupWindowMark):
            raise Unsupported(
                f"{found} cannot be used inside of MATCH_RECOGNIZE", origin=node.at,
                hint="compute it in a query around, or in one that gives the input",
            )  # fmt: skip
        return found

    def _over_rows(self, mark: AggregateMark, node: un.Unresolved) -> Expression:
        if mark.order:
            raise Unsupported(
                f"{mark} has an order of its own: rows of a match have theirs", origin=node.at
            )
        inputs = call_inputs(mark.call)
        variables = self.variables_of(inputs, str(mark.call.function.name), node)
        local = [shifted(each, self._local) for each in inputs]
        return SlotMark(mark.type, OverRows(variables, call_with_inputs(mark.call, local)))

    def variables_of(
        self, parts: Sequence[Expression], what: str, node: un.Unresolved
    ) -> Variables:
        """What the one name before all columns stands for."""
        if any(contains(part, SlotMark) for part in parts):
            raise InvalidQuery(
                f"{what} looks at rows already: what is inside of it cannot do so again",
                origin=node.at, hint="FIRST, LAST and aggregates take columns of one variable",
            )  # fmt: skip
        numbers = {index // self.width for part in parts for index in columns_of(part)}
        if len(numbers) > 1:
            names = ", ".join("all rows" if at == 0 else self.names[at - 1]
                              for at in sorted(numbers))  # fmt: skip
            raise InvalidQuery(
                f"{what} reads columns of several variables: {names}", origin=node.at,
                hint="it is about the rows of one variable: write that one before each column",
            )  # fmt: skip
        number = next(iter(numbers), 0)
        return self.named(self.names[number - 1]) if number else None

    def row_at(
        self, expression: Expression, what: str, node: un.Unresolved, *, from_end: bool = True,
        offset: int = 0,
    ) -> SlotMark:  # fmt: skip
        variables = self.variables_of([expression], what, node)
        slot = RowAt(variables, shifted(expression, self._local), from_end, offset)
        type = lt.materialized(expression.type)
        return SlotMark(type.with_nullable(type.nullable or not self._is_there(slot)), slot)

    def _is_there(self, slot: RowAt) -> bool:
        """Whether there is such a row in any case."""
        if slot.offset:
            return False
        if slot.variables is None:
            return True
        if self.defining is not None:
            return slot.from_end and self.defining in slot.variables
        return not self.mandatory.isdisjoint(slot.variables)

    def _local(self, index: int) -> int:
        return index % self.width


def over_match(resolver: MatchResolver, expressions: Sequence[Expression]) -> OverMatch:
    """Resolved expressions over the values of slots."""
    slots: dict[Slot, int] = {}

    def placed(expression: Expression) -> Expression:
        if isinstance(expression, Column):
            expression = resolver.row_at(expression, "a column", un.Unresolved())
        if isinstance(expression, SlotMark):
            return Column(expression.type, slots.setdefault(expression.slot, len(slots)))
        if not expression.inputs:
            return expression
        return expression.with_inputs([placed(part) for part in expression.inputs])

    made = tuple(placed(each) for each in expressions)
    return OverMatch(tuple(slots), made)


def _navigation(from_end: bool) -> Callable[[MatchResolver, un.Apply], Expression]:
    def resolved(resolver: MatchResolver, node: un.Apply) -> Expression:
        name = node.function.upper()
        if not 1 <= len(node.arguments) <= 2:
            raise InvalidQuery(
                f"{name} takes an expression and perhaps an offset", origin=node.at,
                hint=f"write {name}(A.x) or {name}(A.x, 1)",
            )  # fmt: skip
        expression = resolver.resolve(node.arguments[0])
        offset = _offset(resolver, node.arguments[1], name) if len(node.arguments) > 1 else 0
        return resolver.row_at(expression, name, node, from_end=from_end, offset=offset)

    return resolved


def _offset(resolver: MatchResolver, node: un.Unresolved, name: str) -> int:
    expression = resolver.resolve(node)
    if isinstance(expression, SlotMark):
        raise InvalidQuery(f"the offset of {name} must be a constant", origin=node.at)
    value = constant_of(expression, f"the offset of {name}", node.at)
    if not isinstance(expression.type, lt.INTEGERS) or value is None or value < 0:
        raise InvalidQuery(
            f"the offset of {name} must be a whole number from 0 on, this is {value}",
            origin=node.at,
        )
    return int(value)


def _counts_rows_of_variable(node: un.Apply) -> bool:
    """COUNT(A.*)"""
    stars = [each for each in node.arguments if isinstance(each, un.Star)]
    return node.function.upper() == "COUNT" and any(star.qualifier for star in stars)


def _count(resolver: MatchResolver, node: un.Apply) -> Expression:
    star = node.arguments[0]
    assert isinstance(star, un.Star)
    variable = ".".join(star.qualifier)
    if variable not in resolver.names:
        known = f"its variables are {', '.join(resolver.names)}"
        raise InvalidQuery(
            f"PATTERN has no variable {variable}", origin=star.at,
            hint=did_you_mean(variable, resolver.names, known),
        )  # fmt: skip
    counted = aggregate("COUNT", at=node.at)
    return SlotMark(counted.type, OverRows(resolver.named(variable), counted))


def _match_rowtime(resolver: MatchResolver, node: un.Apply) -> Expression:
    time = resolver.time_type
    if lt.is_proctime(time):
        raise InvalidQuery(
            "MATCH_ROWTIME needs rows ordered by event time, these are by processing time",
            origin=node.at, hint="use MATCH_PROCTIME(), or ORDER BY a column with a WATERMARK",
        )  # fmt: skip
    kind = time.kind if isinstance(time, lt.TimestampType | lt.LocalZonedTimestampType) else None
    assert kind is not None
    type: lt.LogicalType = lt.TimestampType(3, kind)
    if node.arguments:
        type = resolver.resolve(node.arguments[0]).type
        if type.with_nullable(False) != time.with_nullable(False):
            raise InvalidQuery(
                f"MATCH_ROWTIME takes the time attribute the rows are ordered by, this is {type}",
                origin=node.arguments[0].at,
            )
    return SlotMark(type.not_null(), MatchTime())


def _match_proctime(resolver: MatchResolver, node: un.Apply) -> Expression:
    if node.arguments:
        raise InvalidQuery("MATCH_PROCTIME has no arguments", origin=node.at)
    return call("PROCTIME", at=node.at)


def _classifier(resolver: MatchResolver, node: un.Apply) -> Expression:
    if node.arguments:
        raise Unsupported("CLASSIFIER has no arguments here", origin=node.at)
    return SlotMark(lt.STRING.not_null(), Classifier())


def _whole_match(resolver: MatchResolver, node: un.Apply) -> Expression:
    """FINAL x, RUNNING x: with one row per match both are evaluated at its last row."""
    return resolver.resolve(node.arguments[0])


def _not_yet(resolver: MatchResolver, node: un.Apply) -> Expression:
    name = node.function.upper()
    hints = {
        "PREV": "LAST(A.x, 1) is the row of A before the last one",
        "NEXT": "FIRST(A.x, 1) is the second row of A",
    }
    raise Unsupported(
        f"{name} cannot be had in MATCH_RECOGNIZE", origin=node.at, hint=hints.get(name)
    )


_SPECIAL: dict[str, Callable[[MatchResolver, un.Apply], Expression]] = {
    "FIRST": _navigation(from_end=False),
    "LAST": _navigation(from_end=True),
    "MATCH_ROWTIME": _match_rowtime,
    "MATCH_PROCTIME": _match_proctime,
    "FINAL": _whole_match,
    "RUNNING": _whole_match,
    "PREV": _not_yet,
    "NEXT": _not_yet,
    "CLASSIFIER": _classifier,
    "MATCH_NUMBER": _not_yet,
}


def for_variable(resolver: MatchResolver, variable: str) -> MatchResolver:
    """For the condition of a variable."""
    return replace(resolver, defining=variable)
