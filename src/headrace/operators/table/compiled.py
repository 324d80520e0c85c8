"""Expressions as Python functions.

`compiled_row`, `compiled_values`, `compiled_value` and `compiled_predicate` give holders that
travel to workers as expressions and become generated code where they are first used. A holder is
called with a row; hot loops take `holder.function`, or `holder.each(rows)` for a whole batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from headrace.core.expressions import Expression, UserCall, columns_of
from headrace.core.table_values import from_python, nullable, to_python
from headrace.operators.functions.session import session_time_zone, time_zone
from headrace.operators.table.awaited_calls import awaited_calls
from headrace.operators.table.batched_calls import batch_call, is_batched, stages
from headrace.operators.table.expression_code import Code
from headrace.operators.table.user_functions import function_view

T = TypeVar("T")
Row = tuple[Any, ...]

_ROW, _VALUES, _VALUE, _PREDICATE = "row", "values", "value", "predicate"


class Compiled(Generic[T]):
    """Expressions over the columns of a row as one function.

    `open` hands a runtime context to the functions of the user in them, if there are any.
    """

    takes_batches = False
    """Whether `each` looks at all rows before it has the first result."""

    def __init__(self, expressions: Sequence[Expression], form: str, first: int = 1):
        self.expressions = tuple(expressions)
        self.form = form
        self.first = first
        self.zone = time_zone()
        self._function: Callable[[Row], T] | None = None
        self._each: Callable[[Iterable[Row]], list[Any]] | None = None
        self._opened: list[Any] = []

    @property
    def function(self) -> Callable[[Row], T]:
        """The generated function."""
        if self._function is None:
            self._compile()
        assert self._function is not None
        return self._function

    @property
    def each(self) -> Callable[[Iterable[Row]], list[Any]]:
        """For many rows: their results in a list; of a predicate, the rows it holds for."""
        if self._each is None:
            self._compile()
        assert self._each is not None
        return self._each

    def __call__(self, row: Row) -> T:
        return self.function(row)

    def open(self, context: Any) -> None:
        """Opens each function of the user once."""
        for function in self._user_functions():
            opening = getattr(function, "open", None)
            if opening is not None:
                opening(context)
            self._opened.append(function)

    def close(self) -> None:
        while self._opened:
            closing = getattr(self._opened.pop(), "close", None)
            if closing is not None:
                closing()

    @property
    def source(self) -> str:
        """The generated text, for tests and curious readers."""
        return self._text(Code(_no_user_call, self.first))

    def _user_functions(self) -> list[Any]:
        calls = (part for one in self.expressions for part in one.walk())
        found = {id(call.function.function): call for call in calls if isinstance(call, UserCall)}
        return [call.function.function for call in found.values()]

    def _compile(self) -> None:
        with session_time_zone(self.zone):
            code = Code(user_call, self.first)
            text = self._text(code)
        namespace: dict[str, Any] = dict(code.names)
        exec(compile(text, "<compiled expression>", "exec"), namespace)
        self._function = namespace["function"]
        self._each = namespace["each"]

    def _text(self, code: Code) -> str:
        if self.form == _PREDICATE:
            result = code.condition(self.expressions[0])
            kept = f"[row for row in rows if {result}]"
            result = f"True if {result} else False"
        else:
            texts = list(map(code.value, self.expressions))
            result = self._tuple(texts)
            kept = f"[{result} for row in rows]"
        locals_ = "".join(f", {name}={name}" for name in code.names)
        return (
            f"{''.join(code.functions)}"
            f"def function(row{locals_}):\n    return {result}\n"
            f"def each(rows{locals_}):\n    return {kept}\n"
        )

    def _tuple(self, texts: list[str]) -> str:
        if self.form == _VALUE:
            return texts[0]
        parts = ["row[0]", *texts] if self.form == _ROW else texts
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.expressions, self.form, self.first, self.zone)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.expressions, self.form, self.first, self.zone = state
        self._function = self._each = None
        self._opened = []


class BatchCompiled(Compiled[T]):
    """The same for expressions with calls that are made for many rows at once."""

    takes_batches = True

    def __init__(self, expressions: Sequence[Expression], form: str, first: int = 1):
        super().__init__(expressions, form, first)
        self.awaited = awaited_calls()

    def __getstate__(self) -> tuple[Any, ...]:
        return (*super().__getstate__(), self.awaited)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        super().__setstate__(state[:-1])
        self.awaited = state[-1]

    def _compile(self) -> None:
        with session_time_zone(self.zone):
            self._compile_stages()

    def _compile_stages(self) -> None:
        used = [index for one in self.expressions for index in columns_of(one)]
        width = max(used, default=-1) + 1
        calls, last = stages(self.expressions, width)
        steps = [[self._step(call) for call in each] for each in calls]
        predicate, end = self.form == _PREDICATE, self.first + width
        final: Compiled[Any] = Compiled(last, _VALUE if predicate else self.form, self.first)

        def each(rows: Iterable[Row]) -> list[Any]:
            given = list(rows)
            wide = [row[:end] for row in given]
            for step in steps if given else ():
                added = zip(*(call(wide) for call in step), strict=True)
                wide = [(*row, *more) for row, more in zip(wide, added, strict=True)]
            values = final.each(wide)
            if not predicate:
                return values
            return [row for row, value in zip(given, values, strict=True) if value]

        def one(row: Row) -> Any:
            found = each([row])
            return bool(found) if predicate else found[0]

        self._each = each
        self._function = one

    def _step(self, call: UserCall) -> Callable[[list[Row]], list[Any]]:
        arguments: Compiled[Row] = Compiled(call.arguments, _VALUES, self.first)
        types = [each.type for each in call.arguments]
        made = batch_call(call.function, types, call.type, self.awaited)

        def step(rows: list[Row]) -> list[Any]:
            values = arguments.each(rows)
            return made([list(each) for each in zip(*values, strict=True)], len(rows))

        return step


def _made(expressions: Sequence[Expression], form: str, first: int = 1) -> Compiled[Any]:
    kind = BatchCompiled if any(map(is_batched, expressions)) else Compiled
    return kind(expressions, form, first)


def compiled_row(expressions: Sequence[Expression]) -> Compiled[Row]:
    """From a row (kind, columns…) to one of the same kind with these columns."""
    return _made(expressions, _ROW)


def compiled_values(expressions: Sequence[Expression], *, first: int = 1) -> Compiled[Row]:
    """From a row to a tuple of these values, without a kind.

    `first` is where column 0 is: 1 after a change's kind, 0 in a row without one.
    """
    return _made(expressions, _VALUES, first)


def compiled_value(expression: Expression, *, first: int = 1) -> Compiled[Any]:
    """From a row to one value."""
    return _made((expression,), _VALUE, first)


def compiled_predicate(expression: Expression, *, first: int = 1) -> Compiled[bool]:
    """From a row to whether the condition is TRUE; NULL is not."""
    return _made((expression,), _PREDICATE, first)


def user_call(call: UserCall) -> Callable[..., Any]:
    """The user's `eval` on values in internal form; for functions that are called row by row."""
    function = call.function
    evaluate = getattr(function.function, "eval", function.function)
    view = function_view()
    arguments = [to_python(argument.type, view) for argument in call.arguments]
    result = from_python(call.type)
    if result is None and not any(arguments):
        return evaluate  # type: ignore[no-any-return]
    inward = [nullable(convert) for convert in arguments]
    outward = nullable(result)

    def converted(*values: Any) -> Any:
        return outward(evaluate(*(part(value) for part, value in zip(inward, values, strict=True))))

    return converted


def _no_user_call(_call: UserCall) -> Callable[..., Any]:
    return lambda *_values: None
