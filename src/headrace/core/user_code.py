"""Calling the user's functions so that a failure names the record, at no cost when none fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import length_hint
from typing import Any

from headrace.errors import HeadraceError, UserFunctionFailed
from headrace.origin import raising_origin

_LONGEST = 300
_ABSENT = object()


class RecordFailure(Exception):
    """A user's function failed; carries what the engine adds to the report."""

    def __init__(self, error: Exception, call: str, record: Any = _ABSENT, key: Any = _ABSENT):
        super().__init__(str(error))
        # Who knows the key and the whole record has the last word about them.
        self.error: Exception = error.error if isinstance(error, RecordFailure) else error
        self.call = call
        self.record = record
        self.key = key


def apply_all(
    function: Callable[..., Any], values: Sequence[Any], call: str, *beside: Iterable[Any]
) -> list[Any]:
    """`[function(v) for v in values]`; a failure knows which record it was.

    `beside`: what else the function is given with each.
    """
    source = iter(values)
    try:
        results = list(map(function, source, *beside))
    except RecordFailure:
        raise
    except Exception as error:
        raise RecordFailure(error, call, values[-length_hint(source) - 1]) from error
    if len(results) < len(values):  # map() has taken a StopIteration for the end
        raise RecordFailure(stopped_early(), call, values[len(results)])
    return results


def stopped_early() -> Exception:
    """What a function has done that `map` takes for the end of its input."""
    return RuntimeError(
        "the function raised StopIteration: was next() called on an iterator that has ended?"
    )


def report(failure: RecordFailure, name: str, uid: str) -> HeadraceError:
    """The error a user sees: the cause, the line, the operator, the key and the record.

    In a query that Spark runs by itself there is no operator to name.
    """
    error = failure.error
    lines = []
    if isinstance(error, HeadraceError):
        lines.append(error.message)
    else:
        lines.append(f"{type(error).__name__}: {shortened(str(error))}")
    operator = f" of operator {name!r} (uid {uid!r})" if name else ""
    lines.append(f"  in {failure.call}{operator}")
    if failure.key is not _ABSENT:
        lines.append(f"  key:    {shown(failure.key)}")
    if failure.record is not _ABSENT:
        lines.append(f"  record: {shown(failure.record)}")
    origin = raising_origin(error.__traceback__)
    if isinstance(error, HeadraceError):
        return error.public()("\n".join(lines), origin=error.origin or origin, hint=error.hint)
    return UserFunctionFailed("\n".join(lines), origin=origin)


def shown(value: Any) -> str:
    """A value's repr, short enough for a message, even if its repr fails."""
    try:
        return shortened(repr(value))
    except Exception as error:
        return f"<{type(value).__name__} whose repr raised {type(error).__name__}>"


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
