"""Functions of the user: aggregates, table aggregates and table functions, with PyFlink's methods.

They take and give ordinary Python values, so arguments are converted from the internal form, and
results into it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headrace.core.expressions import UserFunction
from headrace.core.given_values import RESULTS, from_python
from headrace.core.logical_types import Field, LogicalType, RowType
from headrace.core.metrics import MetricGroup
from headrace.core.operator import Context
from headrace.core.rows import Row
from headrace.core.table_values import View, nullable, to_python
from headrace.core.user_code import RecordFailure
from headrace.errors import Unsupported
from headrace.operators.functions.session import time_zone, zone_of

Convert = Callable[[Any], Any]
Values = tuple[Any, ...]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class FunctionContext:
    """What a function of the user is given when it is opened.

    `job_parameters` are those of a query that has no operators, and so no context of one.
    """

    def __init__(self, ctx: Context | None, job_parameters: Mapping[str, str] | None = None):
        self._ctx = ctx
        self._job_parameters = job_parameters or {}

    def get_metric_group(self) -> MetricGroup:
        return MetricGroup() if self._ctx is None else self._ctx.metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job; the default where there is none of that name."""
        parameters = self._job_parameters if self._ctx is None else self._ctx.task.job_parameters
        return parameters.get(key, default_value)

    def get_task_name(self) -> str:
        return "" if self._ctx is None else self._ctx.task.name

    def get_task_name_with_subtasks(self) -> str:
        if self._ctx is None:
            return ""
        task = self._ctx.task
        return f"{task.name} ({task.subtask + 1}/{task.parallelism})#{task.attempt}"

    def get_number_of_parallel_subtasks(self) -> int:
        return 1 if self._ctx is None else self._ctx.task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return 1 if self._ctx is None else self._ctx.task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return 0 if self._ctx is None else self._ctx.task.subtask

    def get_attempt_number(self) -> int:
        return 0 if self._ctx is None else self._ctx.task.attempt


class OpenedFunction:
    """A function's object from `open` to `close`."""

    def __init__(self, user: UserFunction, ctx: Context | None):
        self.user = user
        self.object = user.function
        self._lifecycle("open", FunctionContext(ctx))

    def close(self) -> None:
        self._lifecycle("close")

    def _lifecycle(self, step: str, *arguments: Any) -> None:
        method = getattr(self.object, step, None)
        if method is None:
            return
        try:
            method(*arguments)
        except Exception as error:
            raise RecordFailure(error, f"{step} of {self.user.name}") from error

    def method(self, name: str, why: str) -> Callable[..., Any]:
        """A method the function must have for what it is used for."""
        found = getattr(self.object, name, None)
        if found is None:
            raise Unsupported(
                f"{self.user.name} has no method {name}()", hint=f"It is called {why}."
            )
        made: Callable[..., Any] = found
        return made


def function_view() -> View:
    """What functions of the user see: instants are times in the session's zone."""
    zone = zone_of(time_zone())

    def zoned(nanos: int) -> datetime.datetime:
        return (_EPOCH + datetime.timedelta(microseconds=nanos // 1000)).astimezone(zone)

    return View(True, zoned)


def arguments_to_python(user: UserFunction, types: Sequence[LogicalType]) -> Convert:
    """From a tuple of values in internal form to the arguments the function sees."""
    view = function_view()
    if user.takes_row and len(types) == 1 and isinstance(types[0], RowType):
        row = nullable(to_python(types[0], view))
        return lambda values: (row(values[0]),)
    parts = [to_python(type, view) for type in types]
    if user.takes_row:
        names = user.settings.get("row_names", ())
        make = Row(*names) if names else Row
        every = [nullable(part) for part in parts]
        return lambda values: (
            make(*[convert(value) for convert, value in zip(every, values, strict=True)]),
        )
    if not any(parts):
        return tuple
    converts = [nullable(part) for part in parts]
    return lambda values: tuple(
        [convert(value) for convert, value in zip(converts, values, strict=True)]
    )


def row_from_python(fields: Sequence[Field]) -> Callable[[Any], Values]:
    """From what a table function gives to the columns' values; a lone value is a row of one."""
    converts = [nullable(from_python(field.type, RESULTS)) for field in fields]
    width = len(converts)

    def columns(given: Any) -> Values:
        if isinstance(given, Row | tuple | list) and not (width == 1 and len(given) != 1):
            parts: Iterable[Any] = given
        else:
            parts = (given,)
        return tuple([convert(part) for convert, part in zip(converts, parts, strict=True)])

    return columns


def _accumulators(user: UserFunction, create: Callable[[], Any]) -> Callable[[], Any]:
    """New accumulators, whose declared views of maps answer as map state does."""
    places = user.settings.get("map_views", ())
    if not places:
        return create

    def created() -> Any:
        made = create()
        for place in places:
            if hasattr(made[place], "hold_as_state"):
                made[place].hold_as_state()
        return made

    return created


class UserAccumulator:
    """An aggregate function of the user as an Accumulator: `create_accumulator`, `accumulate`,
    `retract`, `merge` and `get_value`."""

    def __init__(
        self, user: UserFunction, types: Sequence[LogicalType], result: LogicalType,
        ctx: Context | None = None,
    ):  # fmt: skip
        self._opened = OpenedFunction(user, ctx)
        function = self._opened.object
        self.create: Callable[[], Any] = _accumulators(user, function.create_accumulator)
        self._arguments = arguments_to_python(user, types)
        self._value = nullable(from_python(user.result_type or result, RESULTS))
        self._accumulate = function.accumulate

    def add(self, kept: Any, *values: Any) -> Any:
        self._accumulate(kept, *self._arguments(values))
        return kept

    def retract(self, kept: Any, *values: Any) -> Any:
        retract = self._opened.method("retract", "when a row it has seen is taken back")
        retract(kept, *self._arguments(values))
        return kept

    def merge(self, kept: Any, other: Any) -> Any:
        self._opened.method("merge", "when two groups become one")(kept, [other])
        return kept

    def result(self, kept: Any) -> Any:
        return self._value(self._opened.object.get_value(kept))

    def close(self) -> None:
        self._opened.close()


class UserTableAggregate:
    """A table aggregate function of the user: like an aggregate, but with `emit_value`."""

    def __init__(
        self, user: UserFunction, types: Sequence[LogicalType], fields: Sequence[Field],
        ctx: Context | None = None,
    ):  # fmt: skip
        self._opened = OpenedFunction(user, ctx)
        function = self._opened.object
        self.create: Callable[[], Any] = _accumulators(user, function.create_accumulator)
        self._accumulate = function.accumulate
        self._arguments = arguments_to_python(user, types)
        self._columns = row_from_python(fields)

    @property
    def updates_itself(self) -> bool:
        """Whether it says itself what has changed, with `emit_update_with_retract`."""
        return hasattr(self._opened.object, "emit_update_with_retract")

    def add(self, kept: Any, values: Values) -> None:
        self._accumulate(kept, *self._arguments(values))

    def retract(self, kept: Any, values: Values) -> None:
        retract = self._opened.method("retract", "when a row it has seen is taken back")
        retract(kept, *self._arguments(values))

    def rows(self, kept: Any) -> list[Values]:
        emit = self._opened.method("emit_value", "for the rows of a group")
        return [self._columns(given) for given in emit(kept) or ()]

    def update(self, kept: Any) -> list[tuple[bool, Values]]:
        """The rows it takes back (True) and emits (False), in order."""
        collector = RetractableCollector(self._columns)
        self._opened.object.emit_update_with_retract(kept, collector)
        return collector.taken

    def close(self) -> None:
        self._opened.close()


class RetractableCollector:
    """What `emit_update_with_retract` is given: `collect` a row, or `retract` one."""

    def __init__(self, columns: Callable[[Any], Values]):
        self._columns = columns
        self.taken: list[tuple[bool, Values]] = []

    def collect(self, row: Any) -> None:
        self.taken.append((False, self._columns(row)))

    def retract(self, row: Any) -> None:
        self.taken.append((True, self._columns(row)))


class UserTableFunction:
    """A table function of the user: `eval` gives any number of rows."""

    def __init__(
        self, user: UserFunction, types: Sequence[LogicalType], fields: Sequence[Field],
        ctx: Context | None = None,
    ):  # fmt: skip
        self._opened = OpenedFunction(user, ctx)
        self._eval = self._opened.object.eval
        self._arguments = arguments_to_python(user, types)
        self._columns = row_from_python(fields)

    def __call__(self, *values: Any) -> list[Values]:
        given = self._eval(*self._arguments(values))
        if given is None:
            return []
        if isinstance(given, str | bytes | Row | tuple) or not isinstance(given, Iterable):
            return [self._columns(given)]
        return [self._columns(row) for row in given]

    def close(self) -> None:
        self._opened.close()
