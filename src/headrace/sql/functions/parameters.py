"""What the parameters of SQL functions accept, as signatures are written with it.

A parameter says which types fit it and to which type an argument is cast implicitly. NULL without
a type fits every parameter. `signature(NUMBER, INT, optional=(TEXT,))` is how a row uses them:
a plain type is a parameter too, it accepts what Flink casts to that type implicitly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, Literal
from headrace.core.logical_types import LogicalType
from headrace.sql.functions.type_rules import can_cast_implicitly, needs_no_cast

Fit = Callable[[LogicalType, Sequence[LogicalType]], LogicalType | None]
"""Of (type of the argument, types of all arguments): the type to cast it to, None: unfit."""


@dataclass(frozen=True)
class Parameter:
    label: str
    """As error messages and documentation show it."""
    fit: Fit
    literal: bool = False
    """Whether only a constant written in the query will do."""
    allowed: frozenset[str] | None = None
    """The texts a literal may be, in upper case."""

    def target(self, argument: Expression, types: Sequence[LogicalType]) -> LogicalType | None:
        """The type the argument must be cast to, which may be its own; None if it does not fit."""
        if self.literal and not isinstance(argument, Literal):
            return None
        if self.allowed is not None and (
            not isinstance(argument, Literal) or str(argument.value).upper() not in self.allowed
        ):
            return None
        return self.fit(argument.type, types)


def family(label: str, members: tuple[type[LogicalType], ...], default: LogicalType) -> Parameter:
    """Types of these classes as they are; others, and NULL, are cast to `default` if possible."""

    def fit(type: LogicalType, _types: Sequence[LogicalType]) -> LogicalType | None:
        if isinstance(type, members):
            return type
        return default if can_cast_implicitly(type, default) else None

    return Parameter(label, fit)


def kind_of(label: str, *members: type[LogicalType]) -> Parameter:
    """Types of these classes and NULL, without any cast."""

    def fit(type: LogicalType, _types: Sequence[LogicalType]) -> LogicalType | None:
        return type if isinstance(type, (*members, lt.NullType)) else None

    return Parameter(label, fit)


def exactly(type: LogicalType) -> Parameter:
    """This type, and what is cast to it implicitly."""

    def fit(actual: LogicalType, _types: Sequence[LogicalType]) -> LogicalType | None:
        if needs_no_cast(actual, type):
            return actual
        return type if can_cast_implicitly(actual, type) else None

    return Parameter(type.name(), fit)


def literal(parameter: Parameter | LogicalType, *allowed: str) -> Parameter:
    """A constant; with `allowed`, one of these texts in any case (units, modes)."""
    base = as_parameter(parameter)
    texts = frozenset(text.upper() for text in allowed) or None
    label = " | ".join(allowed) if allowed else base.label
    return Parameter(label, base.fit, literal=True, allowed=texts)


def element_of(position: int) -> Parameter:
    """What can be cast implicitly to the element of the array at this position."""

    def fit(type: LogicalType, types: Sequence[LogicalType]) -> LogicalType | None:
        array = types[position]
        if not isinstance(array, lt.ArrayType | lt.MultisetType):
            return None
        if isinstance(type, lt.NullType):
            return array.element.with_nullable(True)
        if not can_cast_implicitly(type, array.element):
            return None
        return array.element.with_nullable(type.nullable)

    return Parameter("<ELEMENT>", fit)


def as_parameter(parameter: Parameter | LogicalType) -> Parameter:
    return exactly(parameter) if isinstance(parameter, LogicalType) else parameter


def _any(type: LogicalType, _types: Sequence[LogicalType]) -> LogicalType:
    return type


ANY = Parameter("<ANY>", _any)
NUMBER = family("<NUMERIC>", lt.NUMERIC, lt.DOUBLE)
INTEGER = family("<INTEGER>", lt.INTEGERS, lt.BIGINT)
TEXT = family("<CHARACTER STRING>", lt.CHARACTERS, lt.STRING)
BINARY = family("<BINARY STRING>", lt.BINARIES, lt.BYTES)
TRUTH = family("BOOLEAN", (lt.BooleanType,), lt.BOOLEAN)
DATETIME = kind_of("<DATETIME>", *lt.DATETIMES)
TIMEPOINT = kind_of("<TIMESTAMP>", *lt.TIMESTAMPS)
INTERVAL = kind_of("<INTERVAL>", *lt.INTERVALS)
ARRAY = kind_of("<ARRAY>", lt.ArrayType)
MAP = kind_of("<MAP>", lt.MapType)
ROW = kind_of("<ROW>", lt.RowType)
