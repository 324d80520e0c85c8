"""Functions of the user in expressions: their arguments and what stands for their aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.expressions import AggregateFunction, Expression, UserFunction
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql.functions.conversion import can_cast_implicitly, cast


def with_declared_types(
    user: UserFunction, arguments: Sequence[Expression], at: object | None
) -> tuple[Expression, ...]:
    """The arguments cast to the types that the function was declared with."""
    wanted = user.input_types
    if wanted is None:
        return tuple(arguments)
    if len(wanted) != len(arguments):
        raise InvalidQuery(
            f"{user.name} takes {len(wanted)} arguments, {len(arguments)} are given", origin=at,
            hint=f"it was declared with ({', '.join(map(str, wanted))})",
        )  # fmt: skip
    fitted = []
    for argument, type in zip(arguments, wanted, strict=True):
        if not can_cast_implicitly(argument.type, type.with_nullable(True)):
            raise InvalidQuery(
                f"{user.name} takes {type}, this is {argument.type}", origin=at,
                hint=f"write CAST(… AS {type.name()})",
            )  # fmt: skip
        fitted.append(cast(argument, type.with_nullable(argument.type.nullable)))
    return tuple(fitted)


@dataclass(frozen=True)
class _OnlyWithItsObject:
    """Stands where a built-in aggregate has its accumulator: the call's `user` is run instead."""

    name: str

    def __call__(self, types: Sequence[LogicalType], result: LogicalType, retracts: bool) -> Any:
        raise Unsupported(f"the user's aggregate {self.name} cannot run in this operator")


def user_aggregate(user: UserFunction) -> AggregateFunction:
    kind = "table" if user.kind == "table_aggregate" else "user"
    return AggregateFunction(
        name=user.name, accumulator=_OnlyWithItsObject(user.name), skips_null=False, kind=kind,
        deterministic=user.deterministic,
    )  # fmt: skip
