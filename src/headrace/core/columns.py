"""How single values lie in Arrow arrays, exactly.

A column holds exactly the values its type describes. What only resembles them (a bool among
integers, a named tuple among tuples) is refused, so that the caller can choose another type.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from typing import Any

import pyarrow as pa

from headrace.core.time import Instant
from headrace.core.type_information import WrongValue
from headrace.errors import InvalidArgument

__all__ = [
    "NONE",
    "Column",
    "ConvertedColumn",
    "DirectColumn",
    "InstantColumn",
    "require_only",
    "with_none",
]

Check = Callable[[Any], bool]

NONE = type(None)


class Column(ABC):
    """How the values of one type lie in an Arrow array."""

    arrow: pa.DataType

    @abstractmethod
    def encode(self, values: list[Any]) -> pa.Array:
        """The values as an array; `WrongValue` when one is not exactly of the type."""

    def decode(self, array: pa.Array | pa.ChunkedArray) -> list[Any]:
        """The values as they were encoded."""
        if isinstance(array, pa.ChunkedArray):
            return list(chain.from_iterable(map(self.decode, array.chunks)))
        return self._decode(array)

    @abstractmethod
    def _decode(self, array: pa.Array) -> list[Any]: ...


def require_only(kind: type, label: str, values: list[Any]) -> bool:
    """Refuse what is neither None nor exactly of a class; says whether None is among them.

    One loop in C when all is right.
    """
    kinds = list(map(type, values))
    right = kinds.count(kind)
    if right == len(kinds):
        return False
    if right + kinds.count(NONE) < len(kinds):
        wrong = next(value for value in values if type(value) not in (kind, NONE))
        raise WrongValue(label, wrong)
    return True


_CODES = {pa.int8(): "b", pa.int16(): "h", pa.int32(): "i", pa.int64(): "q", pa.float64(): "d"}
"""What numbers of a type are called by `struct`."""
_AT_ONCE = 1000


def _number_array(arrow: pa.DataType, code: str, values: list[Any]) -> pa.Array:
    """Numbers, all of the right class; twice as fast as Arrow, which asks each what it is."""
    whole = struct.Struct(f"{_AT_ONCE}{code}")
    parts = [values[begin : begin + _AT_ONCE] for begin in range(0, len(values), _AT_ONCE)]
    written = [
        whole.pack(*part) if len(part) == _AT_ONCE else struct.pack(f"{len(part)}{code}", *part)
        for part in parts
    ]
    return pa.Array.from_buffers(arrow, len(values), [None, pa.py_buffer(b"".join(written))])


class DirectColumn(Column):
    """Values that Arrow itself takes and gives."""

    def __init__(self, label: str, kind: type, arrow: pa.DataType, wrong: Check | None = None):
        self.label, self.kind, self.arrow, self.wrong = label, kind, arrow, wrong
        self._code = _CODES.get(arrow) if kind in (int, float) else None

    def encode(self, values: list[Any]) -> pa.Array:
        has_none = require_only(self.kind, self.label, values)
        if self._code is not None and not has_none:
            with suppress(struct.error):  # one is too large; which one, is found below
                return _number_array(self.arrow, self._code, values)
        if self.wrong is not None:
            present = (value for value in values if value is not None)
            for value in filter(self.wrong, present):
                raise WrongValue(self.label, value)
        try:
            array = pa.array(values, self.arrow)
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            raise WrongValue(self.label, next(filter(self._refused, values))) from None
        if isinstance(array, pa.ChunkedArray):
            raise InvalidArgument(
                f"{len(values)} values of {self.label} are more than 2 GB, too many for one column",
                hint="Encode fewer values at once.",
            )
        return array

    def _refused(self, value: Any) -> bool:
        try:
            pa.array([value], self.arrow)
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            return True
        return False

    def _decode(self, array: pa.Array) -> list[Any]:
        if array.type != self.arrow:
            array = array.cast(self.arrow)
        if array.null_count and (pa.types.is_integer(self.arrow) or self.arrow == pa.float64()):
            filled = array.fill_null(0).to_numpy(zero_copy_only=False).tolist()
            return with_none(array, filled)
        # Far faster than to_pylist(), which makes an object of its own for every value.
        values: list[Any] = array.to_numpy(zero_copy_only=False).tolist()
        return values


def with_none(array: pa.Array, values: list[Any]) -> list[Any]:
    """The values with None where the array has none."""
    if not array.null_count:
        return values
    valid = array.is_valid().to_numpy(zero_copy_only=False).tolist()
    return [value if there else None for value, there in zip(values, valid, strict=True)]


class ConvertedColumn(Column):
    """Values that are kept in another form, for want of an Arrow type that holds them exactly."""

    def __init__(
        self,
        kept: Column,
        kind: tuple[type, str] | None,
        to_kept: Callable[[Any], Any],
        from_kept: Callable[[Any], Any],
        wrong: Check | None = None,
    ):
        self.kept, self.arrow = kept, kept.arrow
        self.kind, self.to_kept, self.from_kept, self.wrong = kind, to_kept, from_kept, wrong

    def encode(self, values: list[Any]) -> pa.Array:
        if self.kind is not None:
            require_only(*self.kind, values)
        return self.kept.encode([None if value is None else self._kept(value) for value in values])

    def _kept(self, value: Any) -> Any:
        if self.wrong is not None and self.wrong(value):
            raise WrongValue(self.kind[1] if self.kind else "a value", value)
        try:
            return self.to_kept(value)
        except ValueError:  # an integer of more digits than Python writes
            raise WrongValue(self.kind[1] if self.kind else "a value", value) from None

    def _decode(self, array: pa.Array) -> list[Any]:
        from_kept = self.from_kept
        return [None if kept is None else from_kept(kept) for kept in self.kept.decode(array)]


class InstantColumn(DirectColumn):
    """Points in time, as microseconds."""

    def __init__(self) -> None:
        super().__init__("INSTANT (whole microseconds)", int, pa.timestamp("us", tz="UTC"))

    def encode(self, values: list[Any]) -> pa.Array:
        require_only(Instant, self.label, values)
        micros = DirectColumn(self.label, int, pa.int64())
        for value in values:
            if value is not None and value.nanos % 1000:
                raise WrongValue(self.label, value)
        plain = [
            None if value is None else value.seconds * 1_000_000 + value.nanos // 1000
            for value in values
        ]
        return micros.encode(plain).cast(self.arrow)

    def _decode(self, array: pa.Array) -> list[Any]:
        micros = array.cast(self.arrow).cast(pa.int64())
        split = (divmod(micro, 1_000_000) for micro in micros.fill_null(0).to_pylist())
        return with_none(array, [Instant(seconds, rest * 1000) for seconds, rest in split])
