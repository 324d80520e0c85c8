"""What MATCH_RECOGNIZE says: a pattern of rows, and expressions over the rows of a match.

An expression of MEASURES or DEFINE does not see one row. It is split: *slots* say which rows of a
match it looks at and what it wants of them, the expression itself is over the values of the slots,
of which `Column(i)` is the one of slot i.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from headrace.core.expressions import (
    AggregateCall,
    Expression,
    SortKey,
    columns_of,
    shifted,
)
from headrace.core.logical_types import LogicalType
from headrace.core.patterns import EventPattern, Part, Stage

Variables = tuple[str, ...] | None
"""Whose rows are meant: those of a variable, of several (SUBSET), or None: all rows."""
_Places = Callable[[int], int]


def _named(variables: Variables) -> str:
    return "*" if variables is None else "|".join(variables)


@dataclass(frozen=True)
class RowAt:
    """An expression of one row: FIRST(A.x, n), LAST(A.x, n), or A.x, which is LAST(A.x, 0)."""

    variables: Variables
    expression: Expression
    """Over the columns of the input."""
    from_end: bool = True
    offset: int = 0

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.expression,)

    def moved(self, places: _Places) -> RowAt:
        return replace(self, expression=shifted(self.expression, places))

    def __str__(self) -> str:
        name = "LAST" if self.from_end else "FIRST"
        return f"{name}({_named(self.variables)}.{self.expression}, {self.offset})"


@dataclass(frozen=True)
class OverRows:
    """An aggregate over the rows of a variable, or over all rows."""

    variables: Variables
    call: AggregateCall

    @property
    def expressions(self) -> tuple[Expression, ...]:
        call = self.call
        return call.arguments if call.filter is None else (*call.arguments, call.filter)

    def moved(self, places: _Places) -> OverRows:
        call = self.call
        condition = None if call.filter is None else shifted(call.filter, places)
        arguments = tuple(shifted(each, places) for each in call.arguments)
        return replace(self, call=replace(call, arguments=arguments, filter=condition))

    def __str__(self) -> str:
        return f"{self.call} OF {_named(self.variables)}"


@dataclass(frozen=True)
class MatchTime:
    """MATCH_ROWTIME(): the event time of the match."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return ()

    def moved(self, places: _Places) -> MatchTime:
        return self

    def __str__(self) -> str:
        return "MATCH_ROWTIME()"


@dataclass(frozen=True)
class Classifier:
    """CLASSIFIER(): the variable of the last row of a match."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return ()

    def moved(self, places: _Places) -> Classifier:
        return self

    def __str__(self) -> str:
        return "CLASSIFIER()"


Slot = RowAt | OverRows | MatchTime | Classifier


@dataclass(frozen=True)
class OverMatch:
    """Expressions over the rows of a match."""

    slots: tuple[Slot, ...]
    expressions: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.expressions))}] of [{', '.join(map(str, self.slots))}]"

    def columns(self) -> set[int]:
        """The input's columns it reads."""
        return {index for slot in self.slots for each in slot.expressions
                for index in columns_of(each)}  # fmt: skip

    def moved(self, places: _Places) -> OverMatch:
        return replace(self, slots=tuple(slot.moved(places) for slot in self.slots))

    def chosen(self, kept: Sequence[int]) -> OverMatch:
        """Only some of the expressions, with the slots they need."""
        expressions = [self.expressions[at] for at in kept]
        used = sorted(set().union(*map(columns_of, expressions)))
        place = {old: new for new, old in enumerate(used)}.__getitem__
        return OverMatch(
            tuple(self.slots[at] for at in used), tuple(shifted(e, place) for e in expressions)
        )


@dataclass(frozen=True)
class RowPattern:
    """All of a MATCH_RECOGNIZE clause but its names."""

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    """The column of time first."""
    time_type: LogicalType
    """Of that column: a time attribute, or in batch mode any timestamp."""
    events: EventPattern
    """Its stages are the variables; conditions are in `definitions`."""
    definitions: tuple[tuple[str, OverMatch], ...]
    """Variables and their conditions, which must all hold; one without any takes every row."""
    measures: OverMatch
    at: object | None = field(default=None, compare=False, repr=False)
    """Where it was written."""

    def columns(self) -> set[int]:
        """The input's columns it reads."""
        found = {*self.partition, *(key.column for key in self.order), *self.measures.columns()}
        return found.union(*(condition.columns() for _, condition in self.definitions))

    def moved(self, places: _Places) -> RowPattern:
        """The same with every column of the input at another position."""
        return replace(
            self,
            partition=tuple(map(places, self.partition)),
            order=tuple(replace(key, column=places(key.column)) for key in self.order),
            definitions=tuple((name, each.moved(places)) for name, each in self.definitions),
            measures=self.measures.moved(places),
        )

    def __str__(self) -> str:
        parts = " ".join(_texts(self.events.parts))
        within = f" WITHIN {self.events.within_ms} ms" if self.events.within_ms is not None else ""
        after = self.events.after_match
        skip = f"{after.skip.value}{f' {after.stage}' if after.stage else ''}"
        keys = ", ".join(f"${column}" for column in self.partition)
        order = ", ".join(map(str, self.order))
        define = "; ".join(f"{name}: {condition}" for name, condition in self.definitions)
        return (
            f"PARTITION BY [{keys}] ORDER BY [{order}] MEASURES {self.measures} SKIP {skip} "
            f"({parts}){within} DEFINE {define}"
        )


def _texts(parts: tuple[Part, ...]) -> Iterator[str]:
    for part in parts:
        name = part.name if isinstance(part, Stage) else f"({' '.join(_texts(part.parts))})"
        repetition = part.repetition
        if repetition is None:
            yield name + "?" * part.optional
            continue
        low = 0 if part.optional else repetition.at_least
        high = "" if repetition.at_most is None else repetition.at_most
        yield f"{name}{{{low},{high}}}{'' if repetition.greedy else '?'}"
