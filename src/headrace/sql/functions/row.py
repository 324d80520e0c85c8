"""One row per SQL function: what it is called, takes, gives, means, and an example that is tested.

A family is a module of `headrace.sql.functions` with `FUNCTIONS: tuple[FunctionRow, ...]`:

    FUNCTIONS = (
        FunctionRow(
            names=("CHAR_LENGTH", "CHARACTER_LENGTH"),
            doc="The number of characters of a string.",
            signatures=(signature(TEXT),),                # parameters: see parameters.py
            result=INT,                                   # nullable when an argument is
            meaning=len,                                  # called when no argument is NULL
            inline="len({0})",                            # the same, quicker
            spark="char_length({0})",                     # only if Spark means the same
            examples=(example("flink", gives=5),),
        ),
        FunctionRow(
            names=("ARRAY_APPEND",),
            doc="The array with one more element at its end.",
            signatures=(signature(ARRAY, element_of(0)),),
            result=type_of(0),                            # or any function of the arguments
            meaning=collections.append,
            strict=False,                                 # NULLs are handed over
            nullable=argument_nullable(0),
            examples=(example((1, 2), 3, gives=(1, 2, 3)),),
        ),
        FunctionRow(
            names=("PLUS",),
            doc="The sum.",
            signatures=(                                  # each may have a result of its own
                signature(NUMBER, NUMBER, result=sum_type),
                signature(DATETIME, INTERVAL, result=type_of(0)),
            ),
            meaning=arithmetic.plus,                      # (argument types, result) -> function
            by_type=True,
            examples=(example(1, 2, gives=3),),
        ),
    )

The signature that needs the fewest casts is taken. `result` functions see the arguments after the
casts. Aggregates have `aggregate` instead of `meaning`, table functions `table` and `columns`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.core.expressions import (
    AggregateFunction,
    Call,
    Expression,
    ScalarFunction,
    SparkForm,
    TableCall,
    TableFunction,
)
from headrace.core.logical_types import Field, LogicalType
from headrace.errors import InvalidQuery
from headrace.sql.functions.conversion import cast
from headrace.sql.functions.parameters import Parameter, as_parameter
from headrace.sql.functions.type_rules import common_type

Result = LogicalType | Callable[[Sequence[Expression]], LogicalType | None]
"""A type, or the type by the arguments; None where the arguments make no sense together."""
Nullability = bool | Callable[[Sequence[Expression]], bool]


@dataclass(frozen=True)
class Signature:
    parameters: tuple[Parameter, ...]
    optional: tuple[Parameter, ...] = ()
    rest: tuple[Parameter, ...] = ()
    alike: int | None = None
    result: Result | None = None
    prepare: Callable[[Sequence[Expression]], Sequence[Expression] | None] | None = None

    def fitted(self, arguments: Sequence[Expression]) -> tuple[Expression, ...] | None:
        """The arguments with implicit casts, or None if they do not fit."""
        parameters = self._spread(len(arguments))
        if parameters is None:
            return None
        types = [argument.type for argument in arguments]
        targets: list[LogicalType] = []
        for parameter, argument in zip(parameters, arguments, strict=True):
            target = parameter.target(argument, types)
            if target is None:
                return None
            targets.append(target)
        if self.alike is not None and len(arguments) > self.alike:
            shared = common_type(targets[self.alike :])
            if shared is None:
                return None
            targets[self.alike :] = [
                shared.with_nullable(target.nullable) for target in targets[self.alike :]
            ]
        fitted = [cast(*pair) for pair in zip(arguments, targets, strict=True)]
        if self.prepare is None:
            return tuple(fitted)
        prepared = self.prepare(fitted)
        return None if prepared is None else tuple(prepared)

    def _spread(self, count: int) -> tuple[Parameter, ...] | None:
        """One parameter per argument, or None if there are too many or too few."""
        parameters = (*self.parameters, *self.optional)[:count]
        if count < len(self.parameters):
            return None
        left = count - len(parameters)
        if left == 0:
            return parameters
        if not self.rest or left % len(self.rest):
            return None
        return (*parameters, *self.rest * (left // len(self.rest)))

    def text(self, name: str) -> str:
        needed = [parameter.label for parameter in self.parameters]
        optional = [f"[{parameter.label}]" for parameter in self.optional]
        rest = [", ".join(parameter.label for parameter in self.rest) + "..."] if self.rest else []
        return f"{name}({', '.join((*needed, *optional, *rest))})"


def signature(
    *parameters: Parameter | LogicalType,
    optional: Sequence[Parameter | LogicalType] = (),
    rest: Sequence[Parameter | LogicalType] = (),
    alike: int | None = None,
    result: Result | None = None,
    prepare: Callable[[Sequence[Expression]], Sequence[Expression] | None] | None = None,
) -> Signature:
    """`optional` ones may be left out from the right; `rest` may be repeated; arguments from
    position `alike` on are cast to their common type; `prepare` may change all of them at last
    (None: they do not fit)."""
    return Signature(
        tuple(map(as_parameter, parameters)),
        tuple(map(as_parameter, optional)),
        tuple(map(as_parameter, rest)),
        alike,
        result,
        prepare,
    )


@dataclass(frozen=True)
class Example:
    """Arguments and result in internal form; see `headrace.sql.functions.examples`."""

    arguments: tuple[Any, ...]
    gives: Any
    type: LogicalType | None = None


def example(*arguments: Any, gives: Any, type: LogicalType | None = None) -> Example:
    """Values are literals of the obvious type; (value, type) is written `of(value, type)`.

    `type`, if given, is the expected result type.
    """
    return Example(arguments, gives, type)


@dataclass(frozen=True)
class Typed:
    value: Any
    type: LogicalType


def of(value: Any, type: LogicalType) -> Typed:
    """An example's argument whose type its value does not tell."""
    return Typed(value, type)


def argument_nullable(*positions: int) -> Nullability:
    """Nullable when one of these arguments is."""
    return lambda arguments: any(arguments[position].type.nullable for position in positions)


def type_of(position: int) -> Result:
    return lambda arguments: arguments[position].type


def any_nullable(arguments: Sequence[Expression]) -> bool:
    return any(argument.type.nullable for argument in arguments)


@dataclass(frozen=True, kw_only=True)
class FunctionRow:
    names: tuple[str, ...]
    """All names it can be called by in SQL, in upper case; the first is the function's name."""
    doc: str
    signatures: tuple[Signature, ...]
    result: Result | None = None
    nullable: Nullability = any_nullable
    """Whether the result may be NULL; default: when an argument is."""
    examples: tuple[Example, ...] = ()
    meaning: Callable[..., Any] | None = None
    """Of scalar functions; see `ScalarFunction` for it and the five below."""
    by_type: bool = False
    strict: bool = True
    inline: str | None = None
    spark: SparkForm | None = None
    deterministic: bool = True
    aggregate: AggregateFunction | Callable[[Sequence[Expression]], AggregateFunction] | None = None
    """Of aggregates: the function, or how it is chosen by the arguments."""
    table: TableFunction | None = None
    columns: Callable[[Sequence[Expression]], Sequence[Field]] | None = None
    """Of table functions: the columns they give."""

    @property
    def kind(self) -> str:
        if self.aggregate is not None:
            return "aggregate"
        return "scalar" if self.table is None else "table"

    @cached_property
    def function(self) -> ScalarFunction:
        if self.meaning is None:
            raise InvalidQuery(
                f"{self.names[0]} is no scalar function",
                hint=f"It is {'an aggregate' if self.aggregate else 'a table'} function.",
            )
        return ScalarFunction(
            name=self.names[0],
            meaning=self.meaning,
            by_type=self.by_type,
            strict=self.strict,
            inline=self.inline,
            spark=self.spark,
            deterministic=self.deterministic,
        )

    def bind(self, arguments: Sequence[Expression], origin: object | None = None) -> Call:
        """The call of a scalar function; InvalidQuery if the arguments do not fit."""
        fitted, type = self._resolve(arguments, origin)
        return Call(type, self.function, fitted)

    def bind_aggregate(
        self, arguments: Sequence[Expression], origin: object | None = None
    ) -> tuple[AggregateFunction, tuple[Expression, ...], LogicalType]:
        """The aggregate with its arguments after implicit casts and the type of its result."""
        if self.aggregate is None:
            raise InvalidQuery(f"{self.names[0]} is no aggregate function", origin=origin)
        fitted, type = self._resolve(arguments, origin)
        chosen = self.aggregate
        return (chosen if isinstance(chosen, AggregateFunction) else chosen(fitted)), fitted, type

    def bind_table(
        self, arguments: Sequence[Expression], origin: object | None = None
    ) -> TableCall:
        """The call of a table function."""
        if self.table is None or self.columns is None:
            raise InvalidQuery(f"{self.names[0]} is no table function", origin=origin)
        chosen = self._fitting(arguments)
        if chosen is None:
            raise self._misfit(arguments, origin)
        return TableCall(self.table, chosen[1], tuple(self.columns(chosen[1])))

    def _resolve(
        self, arguments: Sequence[Expression], origin: object | None
    ) -> tuple[tuple[Expression, ...], LogicalType]:
        chosen = self._fitting(arguments)
        if chosen is None:
            raise self._misfit(arguments, origin)
        signature, fitted = chosen
        rule = self.result if signature.result is None else signature.result
        type = rule if isinstance(rule, LogicalType) or rule is None else rule(fitted)
        if type is None:
            raise self._misfit(arguments, origin)
        nullable = self.nullable if isinstance(self.nullable, bool) else self.nullable(fitted)
        return fitted, type.with_nullable(nullable)

    def _fitting(
        self, arguments: Sequence[Expression]
    ) -> tuple[Signature, tuple[Expression, ...]] | None:
        """The signature that needs the fewest casts; the first of those that need the same."""
        candidates = [
            (
                sum(new is not old for new, old in zip(fitted, arguments, strict=False)),
                candidate,
                fitted,
            )
            for candidate in self.signatures
            if (fitted := candidate.fitted(arguments)) is not None
        ]
        if not candidates:
            return None
        _casts, candidate, fitted = min(candidates, key=lambda found: found[0])
        return candidate, fitted

    def _misfit(self, arguments: Sequence[Expression], origin: object | None) -> InvalidQuery:
        name = self.names[0]
        given = ", ".join(str(argument.type) for argument in arguments)
        expected = " or ".join(candidate.text(name) for candidate in self.signatures)
        return InvalidQuery(
            f"{name} does not take ({given})", origin=origin, hint=f"It is called as {expected}."
        )
