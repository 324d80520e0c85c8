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
from headrace.core.row_pattern_terms import RowsPerMatch, Term

Variables = tuple[str, ...] | None
"""Whose rows are meant: those of a variable, of several (SUBSET), or None: all rows."""
_Places = Callable[[int], int]


def _named(variables: Variables) -> str:
    return "*" if variables is None else "|".join(variables)


@dataclass(frozen=True)
class RowAt:
    """An expression of one row: FIRST(A.x, n), LAST(A.x, n), or A.x, which is LAST(A.x, 0).

    PREV and NEXT go on from there by rows of the partition, whether the match has them or not.
    """

    variables: Variables
    expression: Expression
    """Over the columns of the input."""
    from_end: bool = True
    offset: int = 0
    shift: int = 0
    """How many rows after it (NEXT), or before it if negative (PREV)."""
    final: bool = False
    """Whether of the whole match also where a row of it is output; otherwise of the rows so far."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.expression,)

    def moved(self, places: _Places) -> RowAt:
        return replace(self, expression=shifted(self.expression, places))

    def __str__(self) -> str:
        name = "LAST" if self.from_end else "FIRST"
        text = f"{name}({_named(self.variables)}.{self.expression}, {self.offset})"
        if self.shift:
            text = f"{'NEXT' if self.shift > 0 else 'PREV'}({text}, {abs(self.shift)})"
        return f"FINAL {text}" if self.final else text


@dataclass(frozen=True)
class OverRows:
    """An aggregate over the rows of a variable, or over all rows."""

    variables: Variables
    call: AggregateCall
    final: bool = False

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
        return f"{'FINAL ' * self.final}{self.call} OF {_named(self.variables)}"


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
    """CLASSIFIER(): the variable of the last row of a match, or of another row like `RowAt`."""

    variables: Variables = None
    from_end: bool = True
    offset: int = 0
    final: bool = False

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return ()

    def moved(self, places: _Places) -> Classifier:
        return self

    def __str__(self) -> str:
        if self == Classifier():
            return "CLASSIFIER()"
        name = "LAST" if self.from_end else "FIRST"
        text = f"{name}(CLASSIFIER({_named(self.variables)}), {self.offset})"
        return f"FINAL {text}" if self.final else text


@dataclass(frozen=True)
class MatchNumber:
    """MATCH_NUMBER(): matches of a partition are counted from 1 on."""

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return ()

    def moved(self, places: _Places) -> MatchNumber:
        return self

    def __str__(self) -> str:
        return "MATCH_NUMBER()"


Slot = RowAt | OverRows | MatchTime | Classifier | MatchNumber


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
    """Its stages are the variables; conditions are in `definitions`. Where there is a `term`, only
    the time limit and where to go on after a match are here."""
    definitions: tuple[tuple[str, OverMatch], ...]
    """Variables and their conditions, which must all hold; one without any takes every row."""
    measures: OverMatch
    term: Term | None = None
    """The pattern of one that Flink could not match: it is matched as the SQL standard says."""
    output: RowsPerMatch = RowsPerMatch.ONE
    skip_to: tuple[str, ...] = ()
    """With a `term`: the variables whose first or last row matching goes on with."""
    order_columns: tuple[int, ...] = ()
    """Of ALL ROWS PER MATCH: the input's columns between those of the partition and measures."""
    other_columns: tuple[int, ...] = ()
    """Of ALL ROWS PER MATCH: the input's columns after the measures."""
    at: object | None = field(default=None, compare=False, repr=False)
    """Where it was written."""

    def columns(self) -> set[int]:
        """The input's columns it reads."""
        found = {*self.partition, *(key.column for key in self.order), *self.measures.columns()}
        found.update(self.order_columns, self.other_columns)
        return found.union(*(condition.columns() for _, condition in self.definitions))

    def moved(self, places: _Places) -> RowPattern:
        """The same with every column of the input at another position."""
        return replace(
            self,
            partition=tuple(map(places, self.partition)),
            order=tuple(replace(key, column=places(key.column)) for key in self.order),
            definitions=tuple((name, each.moved(places)) for name, each in self.definitions),
            measures=self.measures.moved(places),
            order_columns=tuple(map(places, self.order_columns)),
            other_columns=tuple(map(places, self.other_columns)),
        )

    def __str__(self) -> str:
        parts = " ".join(_texts(self.events.parts)) if self.term is None else str(self.term)
        within = f" WITHIN {self.events.within_ms} ms" if self.events.within_ms is not None else ""
        after = self.events.after_match
        skip = f"{after.skip.value}{f' {after.stage}' if after.stage else ''}"
        keys = ", ".join(f"${column}" for column in self.partition)
        order = ", ".join(map(str, self.order))
        define = "; ".join(f"{name}: {condition}" for name, condition in self.definitions)
        return (
            f"PARTITION BY [{keys}] ORDER BY [{order}] MEASURES {self.measures}"
            f"{self._rows()} SKIP {skip} ({parts}){within} DEFINE {define}"
        )

    def _rows(self) -> str:
        if self.output is RowsPerMatch.ONE:
            return ""
        shown = ", ".join(f"${column}" for column in (*self.order_columns, *self.other_columns))
        return f" {self.output.value} [{shown}]"


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
