"""Python text for expressions: one function for a whole projection.

Values may be None for NULL. A strict call looks at the arguments that may be NULL first, with
temporaries, so that `a + b` becomes `None if (t0 := row[1]) is None or (t1 := row[2]) is None else
t0 + t1`. Conditions have a second form without NULL, which is what WHERE, CASE and IF need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.core.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    UserCall,
    is_constant,
)
from headrace.core.logical_types import DecimalType
from headrace.errors import Unsupported
from headrace.operators.functions.numbers import wrapped
from headrace.operators.table.expression_forms import (
    ARITHMETIC,
    CONDITIONS,
    LOGIC,
    NEVER_NULL,
    VALUES,
)

UserFactory = Callable[[UserCall], Callable[..., Any]]
_TALL = 30
"""Expressions of this height become functions of their own: Python limits nested brackets."""


class Code:
    """Text of expressions and what it refers to; `names` are to be passed along."""

    def __init__(self, user: UserFactory, first: int = 1):
        self.names: dict[str, Any] = {"wrapped": wrapped}
        self.functions: list[str] = []
        self._user = user
        self._first = first
        self._temporaries = 0
        self._heights: dict[int, int] = {}
        self._constants: dict[int, bool] = {}

    def value(self, expression: Expression) -> str:
        """Text of the value; in brackets unless it is a simple one."""
        if isinstance(expression, Column):
            return f"row[{expression.index + self._first}]"
        if isinstance(expression, Literal):
            return self._constant(expression.value)
        folded = self._folded(expression)
        if folded is not None:
            return self._constant(folded[0])
        if self._height(expression) >= _TALL:
            return self._apart(expression)
        return self._call(expression)

    def condition(self, expression: Expression) -> str:
        """Text that is true where the value is TRUE, and false for FALSE and NULL."""
        if isinstance(expression, Call) and self._height(expression) < _TALL:
            form = CONDITIONS.get(expression.function.name)
            if form is not None and self._folded(expression) is None:
                return form(self, expression)
            if _is_inline(expression) and expression.function.strict:
                return self._strict_condition(expression)
        return self.value(expression)

    def nullable(self, expression: Expression) -> bool:
        """Whether the text may give None. Types alone do not tell: CAST may overflow to NULL."""
        if isinstance(expression, Literal):
            return expression.value is None
        if isinstance(expression, Column):
            return expression.type.nullable
        if not isinstance(expression, Call) or expression.function.name in NEVER_NULL:
            return not isinstance(expression, Call)
        if _is_inline(expression):
            return expression.type.nullable or any(map(self.nullable, expression.arguments))
        return not _is_total(expression) or any(map(self.nullable, expression.arguments))

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def bound(self, value: Any, kind: str = "k") -> str:
        """A name for an object."""
        name = f"{kind}{len(self.names)}"
        self.names[name] = value
        return name

    def _constant(self, value: Any) -> str:
        if value is None or isinstance(value, bool | str | bytes):
            return repr(value)
        if type(value) is int or (type(value) is float and math.isfinite(value)):
            return repr(value) if value >= 0 else f"({value!r})"
        return self.bound(value)

    def _folded(self, expression: Expression) -> tuple[Any] | None:
        """The value of a constant expression; errors are left to rows that get there."""
        if not expression.inputs or not self._is_constant(expression):
            return None
        try:
            return (evaluate(expression, self._user),)
        except Exception:  # a function of the user may fail with anything
            return None

    def _is_constant(self, expression: Expression) -> bool:
        known = self._constants.get(id(expression))
        if known is None:
            known = all(map(self._is_constant, expression.inputs)) and is_constant(
                expression.with_inputs(()) if expression.inputs else expression
            )
            self._constants[id(expression)] = known
        return known

    def _height(self, expression: Expression) -> int:
        known = self._heights.get(id(expression))
        if known is None:
            known = 1 + max(map(self._height, expression.inputs), default=0)
            known = 1 if known > _TALL else known
            self._heights[id(expression)] = known
        return known

    def _apart(self, expression: Expression) -> str:
        name = f"part{len(self.functions)}"
        self.functions.append("")
        at = len(self.functions) - 1
        self.functions[at] = f"def {name}(row):\n    return {self._call(expression)}\n"
        return f"{name}(row)"

    def _call(self, expression: Expression) -> str:
        if isinstance(expression, UserCall):
            given = ", ".join(map(self.value, expression.arguments))
            return f"{self.bound(self._user(expression), 'u')}({given})"
        if not isinstance(expression, Call):
            raise Unsupported(f"{type(expression).__name__} {expression} is left in a plan")
        form = VALUES.get(expression.function.name)
        special = None if form is None else form(self, expression)
        if special is not None:
            return special
        if not expression.function.strict:
            return self._applied(expression, list(map(self._named, expression.arguments)))
        checks, arguments = self._checked(expression.arguments)
        applied = self._applied(expression, arguments)
        if not checks:
            return applied
        return f"(None if {' or '.join(f'{check} is None' for check in checks)} else {applied})"

    def _named(self, argument: Expression) -> str:
        """A literal by a name: Python warns of `1 is None`."""
        return self.bound(argument.value) if isinstance(argument, Literal) else self.value(argument)

    def _strict_condition(self, expression: Call) -> str:
        checks, arguments = self._checked(expression.arguments)
        applied = self._applied(expression, arguments)
        if not checks:
            return applied
        return f"({' and '.join(f'{check} is not None' for check in checks)} and {applied})"

    def _checked(self, arguments: tuple[Expression, ...]) -> tuple[list[str], list[str]]:
        """What must not be None, and the texts of the arguments after that was checked."""
        checks: list[str] = []
        texts: list[str] = []
        for argument in arguments:
            text = self.value(argument)
            if self.nullable(argument):
                name = self.temporary()
                checks.append(f"({name} := {text})")
                text = name
            texts.append(text)
        return checks, texts

    def _applied(self, call: Call, arguments: list[str]) -> str:
        function = call.function
        if function.inline is not None and not function.by_type:
            return f"({function.inline.format(*arguments)})"
        meaning = function.meaning
        if function.by_type:
            meaning = meaning([argument.type for argument in call.arguments], call.type)
        inline = getattr(meaning, "inline", None)
        if inline is not None:
            return f"({inline.format(*arguments)})"
        return f"{self.bound(meaning, 'f')}({', '.join(arguments)})"


def _is_inline(call: Call) -> bool:
    return call.function.inline is not None and not call.function.by_type


def _is_total(call: Call) -> bool:
    """Whether it has a value whenever all its arguments have."""
    name = call.function.name
    return name in LOGIC or (name in ARITHMETIC and not isinstance(call.type, DecimalType))


def evaluate(expression: Expression, user: UserFactory) -> Any:
    """The value of an expression without columns."""
    if isinstance(expression, Literal):
        return expression.value
    code = Code(user)
    text = code._call(expression)
    namespace = dict(code.names)
    exec("".join(code.functions), namespace)
    return eval(text, namespace, {"row": ()})
