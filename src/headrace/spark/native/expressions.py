"""Expressions as Spark SQL text; what Spark cannot say becomes a function of Arrow columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import cloudpickle
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf

from headrace.core.expressions import (
    ROWS_COUNTED,
    AggregateCall,
    Call,
    Column,
    Expression,
    Literal,
    SparkForm,
    UserCall,
    columns_of,
    shifted,
)
from headrace.core.given_values import wrong_value
from headrace.core.logical_types import INT, LogicalType, RowType
from headrace.core.table_columns import from_arrow, to_arrow
from headrace.core.user_code import RecordFailure
from headrace.operators.functions.session import session_time_zone
from headrace.operators.table.batched_calls import column_call
from headrace.operators.table.compiled import Compiled, compiled_value
from headrace.operators.table.opened import close_all, open_with, results_for, with_functions
from headrace.operators.table.user_functions import FunctionContext
from headrace.runtime.brought_modules import bring
from headrace.runtime.pickling import dumps_for_workers
from headrace.spark.failures import reported
from headrace.spark.native.types import (
    NotHeld,
    NotNative,
    is_held_as_meant,
    literal_text,
    spark_type,
)
from headrace.spark.shipment import work_in

_numbers = itertools.count(1)
_arrow_udf: Any = arrow_udf  # its overloads do not know what annotations say
_OF_COLUMNS = ("pandas", "arrow")
_CALL = "a native query"
Evaluated = Callable[[Sequence[pa.Array]], pa.Array]


def column(index: int) -> str:
    """The name of a column in a native frame: by position, for names may occur twice."""
    return f"c{index}"


class Expressions:
    """Writes expressions for one session and registers the functions that run in Python."""

    def __init__(
        self,
        session: SparkSession,
        job_parameters: Mapping[str, str],
        modules: Sequence[str] = (),
        *,
        unpacked: bool = False,
    ):
        self._session = session
        self._context = FunctionContext(None, dict(job_parameters))
        self._modules = tuple(modules)
        self._unpacked = unpacked
        self._registered: dict[Expression, str] = {}
        self.in_python: list[str] = []
        """What does not run in the JVM, for `explain`."""

    def text(self, expression: Expression) -> str:
        """The expression over columns c0, c1, …"""
        return self._native(expression) or self._call_of_python(expression)

    def _native(self, expression: Expression) -> str | None:
        match expression:
            case Column(index=index):
                return column(index)
            case Literal(type=type, value=value):
                try:
                    return literal_text(value, type)
                except NotHeld:
                    raise
                except NotNative:
                    return None
            case Call(function=function, arguments=arguments) if function.spark is not None:
                types = [argument.type for argument in arguments]
                if not all(is_held_as_meant(type) for type in (*types, expression.type)):
                    return None
                texts = [self._argument(argument) for argument in arguments]
                return written(function.spark, texts, types, expression.type)
        return None

    def _argument(self, expression: Expression) -> str:
        """A row that a call makes gets the names of its type: fields are asked for by name."""
        text = self.text(expression)
        if isinstance(expression, Call) and isinstance(expression.type, RowType):
            return f"CAST({text} AS {spark_type(expression.type)})"
        return text

    def _call_of_python(self, expression: Expression) -> str:
        used = sorted(columns_of(expression))
        moved = shifted(expression, {index: at for at, index in enumerate(used)}.__getitem__)
        if moved not in self._registered:
            self._registered[moved] = self._register(moved, expression)
        # A function of no column at all is still called once for each row.
        arguments = ", ".join(map(column, used)) or "CAST(rand() AS INT)"
        return f"{self._registered[moved]}({arguments})"

    def _register(self, moved: Expression, expression: Expression) -> str:
        name = f"headrace_python_{next(_numbers)}"
        types = {part.index: part.type for part in moved.walk() if isinstance(part, Column)}
        given = [types[index] for index in sorted(types)] or [INT]
        body = _body(moved, given, self._context)
        if self._modules or self._unpacked:
            body = _with_what_was_brought(body, self._modules, self._unpacked)
        function = _arrow_udf(body, spark_type(expression.type))
        if not _is_deterministic(expression):
            function = function.asNondeterministic()
        self._session.udf.register(name, function)
        self.in_python.append(str(expression))
        return name


def written(
    form: SparkForm, texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType
) -> str | None:
    """A function's Spark form with its arguments filled in."""
    if callable(form):
        return form(texts, types, result)
    return form.format(*texts)


def written_call(
    call: AggregateCall, texts: Sequence[str], types: Sequence[LogicalType], rows: str = ""
) -> str:
    """An aggregate function of texts, of the type Flink gives it; NotNative if Spark has none that
    means the same. `rows` is what is said after it: FILTER (…), OVER (…)."""
    if call.user is not None or call.function.spark is None:
        raise NotNative(f"Spark has no {call.function.name}")
    text = written(call.function.spark, texts, types, call.type)
    if text is None:
        raise NotNative(f"Spark's {call.function.name} means something else")
    whole = text.replace(ROWS_COUNTED, rows) if ROWS_COUNTED in text else text + rows
    return f"CAST({whole} AS {spark_type(call.type)})"


def _is_deterministic(expression: Expression) -> bool:
    return all(
        part.function.deterministic
        for part in expression.walk()
        if isinstance(part, Call | UserCall)
    )


def _body(
    expression: Expression, types: list[LogicalType], context: FunctionContext
) -> Callable[..., Any]:
    """What runs in a worker, on batches of columns."""

    # Made here, where the session's settings are known; it becomes code in the worker.
    value = compiled_value(expression, first=0)

    def evaluate(batches: Iterator[Any]) -> Iterator[pa.Array]:
        with reported():
            open_with((value,), context)
            with session_time_zone(value.zone):
                made = _on_columns(expression, value) or _on_values(value, types)
            try:
                for columns in batches:
                    yield made(columns if isinstance(columns, tuple) else (columns,))
            finally:
                close_all((value,))

    # Spark reads from the annotations how the function wants its columns.
    taken: Any = Iterator[pa.Array] if len(types) == 1 else Iterator[tuple[pa.Array, ...]]
    evaluate.__annotations__ = {"batches": taken, "return": Iterator[pa.Array]}
    return evaluate


def _with_what_was_brought(
    body: Callable[..., Any], modules: tuple[str, ...], unpacked: bool
) -> Callable[..., Any]:
    """The same, unpickled when its worker can import and open what the job brings along."""
    pickled = dumps_for_workers(body)

    def evaluate(batches: Iterator[Any]) -> Iterator[pa.Array]:
        bring(modules)
        work_in(unpacked=unpacked)
        yield from cloudpickle.loads(pickled)(batches)

    evaluate.__annotations__ = body.__annotations__
    return evaluate


def _on_values(value: Compiled[Any], types: list[LogicalType]) -> Evaluated:
    result = value.expressions[0].type

    def evaluated(parts: Sequence[pa.Array]) -> pa.Array:
        lists = [from_arrow(part, type) for part, type in zip(parts, types, strict=True)]
        rows = list(zip(*lists, strict=True))
        results = results_for(value, rows, _CALL)
        try:
            return to_arrow(results, result)
        except Exception as error:
            raise _misfit(value, results, rows, error) from error

    return evaluated


def _misfit(
    value: Compiled[Any], results: list[Any], rows: list[tuple[Any, ...]], error: Exception
) -> RecordFailure:
    """The failure that names the first result which is not of the declared type."""
    type, call = value.expressions[0].type, with_functions(_CALL, value)
    for given, row in zip(results, rows, strict=True):
        try:
            to_arrow([given], type)
        except Exception:
            return RecordFailure(wrong_value(given, type), call, row)
    return RecordFailure(error, call)


def _on_columns(expression: Expression, value: Compiled[Any]) -> Evaluated | None:
    """A function of columns alone, which can have Spark's own ones."""
    if not isinstance(expression, UserCall) or expression.function.style not in _OF_COLUMNS:
        return None
    places = [part.index for part in expression.arguments if isinstance(part, Column)]
    if len(places) != len(expression.arguments):
        return None
    types = [argument.type for argument in expression.arguments]
    call = column_call(expression.function, types, expression.type)

    def evaluated(parts: Sequence[pa.Array]) -> pa.Array:
        try:
            return call([parts[at] for at in places], len(parts[0]))
        except Exception as error:
            raise RecordFailure(error, with_functions(_CALL, value)) from error

    return evaluated
