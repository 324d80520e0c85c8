"""Expressions of MEASURES and DEFINE, which look at several rows of a match.

Columns qualified with a pattern variable are resolved as if the input had one set of columns for
each variable, and one without a name before them. What looks at rows becomes a `SlotMark`, and at
last a column of the slots of an `OverMatch`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, columns_of, shifted
from headrace.core.row_patterns import (
    Classifier,
    OverMatch,
    OverRows,
    RowAt,
    Slot,
    Variables,
)
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql import unresolved as un
from headrace.sql.marks import (
    AggregateMark,
    GroupWindowMark,
    OverMark,
    SubqueryMark,
    call_inputs,
    call_with_inputs,
    contains,
)
from headrace.sql.match_recognize_functions import (
    SPECIAL,
    SlotMark,
    counts_rows_of_variable,
    row_count,
)
from headrace.sql.match_recognize_terms import Beyond
from headrace.sql.position import did_you_mean
from headrace.sql.resolver import Resolver
from headrace.sql.scope import Scope, twice


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
            index = self._place(names, parts[1], at)
            first = (1 + self.variables.index(parts[0])) * len(fields)
            return Column(fields[index].type, first + index), parts[2:]
        for length in range(len(parts) - 1, 0, -1):
            if self.ranges[0].is_called(parts[:length]):
                parts = parts[length:]
                break
        if parts[0] in names:
            index = self._place(names, parts[0], at)
            return Column(fields[index].type, index), parts[1:]
        if len(parts) > 1:
            known = f"its variables are {', '.join(self.variables)}"
            raise InvalidQuery(
                f"PATTERN has no variable {parts[0]}", origin=at,
                hint=did_you_mean(parts[0], self.variables, known),
            )  # fmt: skip
        return None

    @staticmethod
    def _place(names: list[str], name: str, at: object | None) -> int:
        if names.count(name) > 1:
            raise twice(name, at)
        return names.index(name)


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
    strict: bool = False
    """Whether only what Flink has is allowed."""
    by_row: bool = False
    """Whether measures are evaluated for every row of a match, each with the rows up to it."""
    may_be_empty: bool = False
    """Whether a match may have no row at all."""
    final: bool = False
    """Inside of FINAL: the whole match is meant, not the rows up to one."""

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
            special = SPECIAL.get(node.function.upper())
            if special is not None:
                return special(self, node)
            if counts_rows_of_variable(node):
                return row_count(self, node)
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
        if mark.call.distinct and self.strict:
            raise Beyond(f"{mark} in MATCH_RECOGNIZE", node.at, "leave out DISTINCT").error()
        inputs = call_inputs(mark.call)
        variables = self.variables_of(inputs, str(mark.call.function.name), node)
        local = [shifted(each, self._local) for each in inputs]
        call = call_with_inputs(mark.call, local)
        return SlotMark(mark.type, OverRows(variables, call, self.final))

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
        local = shifted(expression, self._local)
        slot = RowAt(variables, local, from_end, offset, final=self.final)
        type = lt.materialized(expression.type)
        return SlotMark(type.with_nullable(type.nullable or not self.is_there(slot)), slot)

    def is_there(self, slot: RowAt | Classifier) -> bool:
        """Whether there is such a row in any case."""
        if slot.offset or (self.may_be_empty and self.defining is None):
            return False
        if slot.variables is None:
            return True
        if self.defining is not None:
            return slot.from_end and self.defining in slot.variables
        if self.by_row and not slot.final:
            return False
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


def for_variable(resolver: MatchResolver, variable: str) -> MatchResolver:
    """For the condition of a variable."""
    return replace(resolver, defining=variable)
