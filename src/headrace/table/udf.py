"""Functions of the user: scalar, table, aggregate and table aggregate ones."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

from headrace.core.expressions import UserFunction
from headrace.core.logical_types import Field, LogicalType, RowType
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.operators.table.awaited_calls import is_awaited
from headrace.operators.table.user_functions import FunctionContext
from headrace.origin import calling_origin
from headrace.table import data_types as dt
from headrace.table.type_mapping import logical_type_of

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]

T = TypeVar("T")
ACC = TypeVar("ACC")
_STYLES = ("general", "pandas", "arrow")


class UserDefinedFunction(ABC):
    """What all functions of the user can do besides their work."""

    def open(self, function_context: FunctionContext) -> None:
        """Called once before the first call, in each worker."""

    def close(self) -> None:
        """Called once after the last call."""

    def is_deterministic(self) -> bool:
        """Whether equal arguments always give equal results."""
        return True


class ScalarFunction(UserDefinedFunction):
    """From values to one value."""

    @abstractmethod
    def eval(self, *args: Any) -> Any: ...


class AsyncScalarFunction(UserDefinedFunction):
    """From values to one value that is awaited; several calls run at the same time."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any: ...


class TableFunction(UserDefinedFunction):
    """From values to any number of rows."""

    @abstractmethod
    def eval(self, *args: Any) -> Any: ...


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """From many rows to one value or several, through an accumulator."""

    @abstractmethod
    def create_accumulator(self) -> ACC: ...

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Take a row in."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Take a row back out."""
        raise _unwritten(self, "retract", "when rows it has seen are taken back")

    def merge(self, accumulator: ACC, accumulators: Any) -> None:
        """Take in what other accumulators have seen."""
        raise _unwritten(self, "merge", "when groups become one, as with session windows")

    def get_result_type(self) -> dt.DataType | str:
        """The type of results, unless it is declared with udaf(...)."""
        raise _unwritten(self, "get_result_type", "where no result_type is declared")

    def get_accumulator_type(self) -> dt.DataType | str:
        """The type of the accumulator; any Python object can be one."""
        raise _unwritten(self, "get_accumulator_type", "where no accumulator_type is declared")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """From many rows to one value."""

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T: ...


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """From many rows to any number of rows."""

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]: ...


def _unwritten(function: object, method: str, when: str) -> Exception:
    return Unsupported(
        f"{type(function).__name__} has no method {method}()", hint=f"It is called {when}."
    )


class _Evaluated:
    """A plain function as an object with `eval`."""

    def __init__(self, function: Callable[..., Any]):
        self.eval = function


class _EvaluatedGroup:
    """A plain function of a group's columns as an aggregate function."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *columns: Any) -> None:
        accumulator.append(self._function(*columns))

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]


class UserDefinedFunctionWrapper:
    """What udf() and its kin give: called with expressions, it is one."""

    kind = "scalar"

    def __init__(
        self, function: Any, *, input_types: Any, result_type: Any, func_type: str = "general",
        deterministic: bool | None = None, name: str | None = None,
    ) -> None:  # fmt: skip
        if inspect.isclass(function) or not (
            isinstance(function, UserDefinedFunction) or callable(function)
        ):
            raise TypeMismatch(
                f"{function!r} is no function", origin=calling_origin(),
                hint="Give a function, or an object of a class such as ScalarFunction.",
            )  # fmt: skip
        if func_type not in _STYLES:
            raise InvalidArgument(
                f"func_type is one of {', '.join(_STYLES)}, not {func_type!r}",
                origin=calling_origin(),
            )
        self._function = function
        self._input_types = _input_types(input_types)
        self._result_type = result_type
        self._style = func_type
        self._name = str(name or getattr(function, "__name__", type(function).__name__))
        self._deterministic = _deterministic(function, deterministic, self._name)
        self._made: dict[bool, UserFunction] = {}
        self.alias_names: tuple[str, ...] = ()

    def __call__(self, *args: Any) -> Any:
        from headrace.table.expressions import call

        made = call(self, *args)
        return made.alias(*self.alias_names) if self.alias_names else made

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """Names for the columns it gives."""
        self.alias_names = alias_names
        return self

    def user_function(self, takes_row: bool = False) -> UserFunction:
        """The function as queries know it; `takes_row`: a whole row is its only argument."""
        if takes_row not in self._made:
            self._made[takes_row] = UserFunction(
                self._name, self._object(), self.kind, self._style, self._deterministic,
                self._input_types, self._result(), takes_row=takes_row, settings=self._settings(),
            )  # fmt: skip
        return self._made[takes_row]

    def _settings(self) -> dict[str, Any]:
        return {}

    def _object(self) -> Any:
        function = self._function
        return function if isinstance(function, UserDefinedFunction) else _Evaluated(function)

    def _result(self) -> LogicalType:
        return logical_type_of(_declared(self._result_type, self._name))


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A function from values to one value."""


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A function from values to one value that is awaited."""

    def __init__(self, function: Any, **options: Any) -> None:
        super().__init__(function, **options)
        if self._style != "general":
            raise InvalidArgument(
                f"{self._name} is asynchronous: it takes single values, not {self._style} columns",
                origin=calling_origin(),
            )
        self._style = "async"


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A function from values to rows."""

    kind = "table"

    def _result(self) -> LogicalType:
        types = _declared(self._result_type, self._name)
        if isinstance(types, str | dt.DataType):
            return logical_type_of(types)
        listed = [logical_type_of(each) for each in types]
        return RowType(tuple(Field(f"f{index}", each) for index, each in enumerate(listed)))


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """A function from many rows to one value."""

    kind = "aggregate"

    def __init__(self, function: Any, *, accumulator_type: Any = None, **options: Any) -> None:
        super().__init__(function, **options)
        self._accumulator_type = accumulator_type
        wanted = TableAggregateFunction if self.kind == "table_aggregate" else AggregateFunction
        if self._style == "general" and not isinstance(function, wanted):
            raise TypeMismatch(
                f"{self._name} must be an object of a class derived from {wanted.__name__}",
                origin=calling_origin(),
                hint="A plain function of whole columns needs func_type='pandas'.",
            )

    def _object(self) -> Any:
        function = self._function
        return function if isinstance(function, UserDefinedFunction) else _EvaluatedGroup(function)

    def _result(self) -> LogicalType:
        declared = self._result_type
        if declared is None and isinstance(self._function, ImperativeAggregateFunction):
            declared = self._function.get_result_type()
        return logical_type_of(_declared(declared, self._name))

    def _settings(self) -> dict[str, Any]:
        """Which parts of the accumulator are declared as views of maps."""
        declared = self._accumulator_type
        if declared is None and isinstance(self._function, ImperativeAggregateFunction):
            with suppress(Unsupported):  # any Python object can be an accumulator
                declared = self._function.get_accumulator_type()
        if not isinstance(declared, dt.RowType):
            return {}
        types = enumerate(declared.field_types())
        return {"map_views": tuple(at for at, each in types if isinstance(each, dt.MapViewType))}


class UserDefinedTableAggregateFunctionWrapper(UserDefinedAggregateFunctionWrapper):
    """A function from many rows to rows."""

    kind = "table_aggregate"


def _input_types(given: Any) -> tuple[LogicalType, ...] | None:
    if given is None:
        return None
    if isinstance(given, dt.RowType):
        given = given.field_types()
    elif isinstance(given, str | dt.DataType):
        given = [given]
    return tuple(logical_type_of(each) for each in given)


def _declared(given: Any, name: str) -> Any:
    listed: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
    if not listed or not all(isinstance(each, str | dt.DataType) for each in listed):
        raise TypeMismatch(
            f"{name} must declare its result type, this is {given!r}", origin=calling_origin(),
            hint="Such as result_type=DataTypes.BIGINT(), or result_type='BIGINT'.",
        )  # fmt: skip
    return given


def _deterministic(function: Any, said: bool | None, name: str) -> bool:
    if not isinstance(function, UserDefinedFunction):
        return True if said is None else said
    own = function.is_deterministic()
    if said is not None and said != own:
        raise InvalidArgument(
            f"{name}: deterministic is {said}, its is_deterministic() says {own}",
            origin=calling_origin(),
        )
    return own


def _is_async(function: Any) -> bool:
    if isinstance(function, AsyncScalarFunction):
        return True
    return is_awaited(function)


def _scalar(function: Any, **options: Any) -> UserDefinedFunctionWrapper:
    made = (
        UserDefinedAsyncScalarFunctionWrapper
        if _is_async(function)
        else UserDefinedScalarFunctionWrapper
    )
    return made(function, **options)


def _or_decorator(make: Callable[..., Any], function: Any, options: dict[str, Any]) -> Any:
    return functools.partial(make, **options) if function is None else make(function, **options)


def udf(
    f: Any = None, input_types: Any = None, result_type: Any = None,
    deterministic: bool | None = None, name: str | None = None, func_type: str = "general",
) -> Any:  # fmt: skip
    """A scalar function, of a plain or async function or an object; also as a decorator.

    `func_type` says what it takes: "general" single values, "pandas" Series, "arrow" Arrow arrays.
    """
    options = {"input_types": input_types, "result_type": result_type, "func_type": func_type,
               "deterministic": deterministic, "name": name}  # fmt: skip
    return _or_decorator(_scalar, f, options)


def udtf(
    f: Any = None, input_types: Any = None, result_types: Any = None,
    deterministic: bool | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """A table function: yields rows, or single values where it has one column."""
    options = {"input_types": input_types, "result_type": result_types,
               "deterministic": deterministic, "name": name}  # fmt: skip
    return _or_decorator(UserDefinedTableFunctionWrapper, f, options)


def udaf(
    f: Any = None, input_types: Any = None, result_type: Any = None, accumulator_type: Any = None,
    deterministic: bool | None = None, name: str | None = None, func_type: str = "general",
) -> Any:  # fmt: skip
    """An aggregate function; with func_type "pandas" a plain function of a group's columns."""
    options = {"input_types": input_types, "result_type": result_type, "func_type": func_type,
               "deterministic": deterministic, "name": name,
               "accumulator_type": accumulator_type}  # fmt: skip
    return _or_decorator(UserDefinedAggregateFunctionWrapper, f, options)


def udtaf(
    f: Any = None, input_types: Any = None, result_type: Any = None, accumulator_type: Any = None,
    deterministic: bool | None = None, name: str | None = None, func_type: str = "general",
) -> Any:  # fmt: skip
    """A table aggregate function."""
    options = {"input_types": input_types, "result_type": result_type, "func_type": func_type,
               "deterministic": deterministic, "name": name,
               "accumulator_type": accumulator_type}  # fmt: skip
    return _or_decorator(UserDefinedTableAggregateFunctionWrapper, f, options)
