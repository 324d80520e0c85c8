"""The base of all types, and the error for a value that is not of its type."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, NoReturn

from headrace.errors import TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = ["Coercer", "TypeInformation", "WrongValue"]

Coercer = Callable[[Any], Any]


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        # Python itself writes no integer of more than a few thousand digits.
        return super().repr_int(x, level) if x.bit_length() < 2000 else "a huge integer"


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = 80


class TypeInformation:
    """What the values of a stream or of a state are.

    Types are values: two that describe the same data are equal and hash alike.
    """

    def get_java_type_info(self) -> NoReturn:
        raise Unsupported(
            f"{self!r} has no Java form: headrace types live in Python only",
            origin=calling_origin(),
            hint="Pass the type itself where PyFlink code passes get_java_type_info().",
        )

    def need_conversion(self) -> bool:
        """Whether `to_internal_type` changes anything."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The plain form of a value, in which dates are numbers and rows are tuples."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The value of a plain form."""
        return obj

    def coercer(self) -> Coercer | None:
        """A function from what a user function returned to what the next one receives.

        It raises `TypeMismatch` for a value that is not of the type, and lets None pass. A type
        that takes every value as it is has no such function.
        """
        return None

    def label(self) -> str:
        """The type as a user writes it, without `Types.`."""
        return repr(self)


class WrongValue(TypeMismatch):
    """A value that is not of its declared type, and where inside the record it sits."""

    def __init__(self, expected: str, value: Any, path: tuple[str, ...] = ()) -> None:
        self.expected = expected
        self.value = value
        self.path = path
        place = f" in {' of '.join(reversed(path))}" if path else ""
        super().__init__(
            f"expected {expected}{place}, got {_SHORT.repr(value)} of type {type(value).__name__}",
            hint="Return a value of the declared type, or change the declared output type.",
        )

    def inside(self, part: str) -> WrongValue:
        """The same fault seen from one level further out."""
        return WrongValue(self.expected, self.value, (part, *self.path))

    def __reduce__(self) -> tuple[object, ...]:
        return TypeMismatch, (self.message,), {"origin": self.origin, "hint": self.hint}


def plain_scalar(value: Any) -> Any:
    """The Python value of a numpy scalar; any other value as it is."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        return value.item()
    return value
