"""The stable hash of a key: the same in every process, on every machine, in every version.

Equal keys must have equal hashes, as in a dictionary: 1, 1.0 and True are one key.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import numbers
import uuid
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any
from zlib import crc32

from headrace.core.rows import Row, named_row
from headrace.errors import TypeMismatch

DEFAULT_MAX_PARALLELISM = 128
MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_NONE = 0x6E6F6E65
_NOT_A_NUMBER = 0x6E616E


def _number(key: Any) -> int:
    # Python's hash of a number depends on its value alone, never on the process. Only not-a-number
    # hashes by its address; all of them are one key group.
    return hash(key) if key == key else _NOT_A_NUMBER


def _time_of_day(key: datetime.time) -> int:
    offset = key.utcoffset()
    if offset is None:
        return crc32(key.isoformat().encode())
    # Times of different zones are equal when they are the same moment of a day.
    moment = datetime.timedelta(hours=key.hour, minutes=key.minute, seconds=key.second) - offset
    return _parts(moment // datetime.timedelta(seconds=1), key.microsecond)


def _parts(*parts: Any) -> int:
    combined = len(parts)
    for part in parts:
        combined = (combined * 1_000_003 ^ stable_hash(part)) & _MASK
    return combined


class ListKey(list[Any]):
    """A list as a key, which nobody may change."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return ListKey, (list(self),)


class DictKey(dict[Any, Any]):
    """A dictionary as a key, which nobody may change."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return DictKey, (dict(self),)


class SetKey(set[Any]):
    """A set as a key, which nobody may change."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))

    def __repr__(self) -> str:
        return repr(set(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return SetKey, (list(self),)


def hashable_key(key: Any) -> Any:
    """A key with the lists, dictionaries and sets in it as something that can be looked up."""
    match key:
        case list():
            return ListKey(map(hashable_key, key))
        case dict():
            return DictKey({name: hashable_key(part) for name, part in key.items()})
        case set():
            return SetKey(key)
        case tuple():
            parts = list(map(hashable_key, key))
            same = all(new is old for new, old in zip(parts, key, strict=True))
            return key if same else tuple(parts)
        case Row():
            return named_row(key._names, list(map(hashable_key, key)), key.get_row_kind())
    return key


_HASHES: dict[type, Callable[[Any], int]] = {
    str: lambda key: crc32(key.encode("utf-8", "surrogatepass")),
    bytes: crc32,
    int: hash,
    bool: hash,
    float: _number,
    complex: _number,
    decimal.Decimal: _number,
    type(None): lambda key: _NONE,
    tuple: lambda key: _parts(*key),
    Row: lambda key: _parts(*key),
    ListKey: lambda key: _parts(*key),
    DictKey: lambda key: sum(map(stable_hash, key.items())),
    frozenset: lambda key: sum(map(stable_hash, key)),
    SetKey: lambda key: sum(map(stable_hash, key)),
    datetime.datetime: lambda key: crc32(
        (key if key.tzinfo is None else key.astimezone(datetime.UTC)).isoformat().encode()
    ),
    datetime.date: lambda key: key.toordinal(),
    datetime.time: _time_of_day,
    datetime.timedelta: lambda key: _parts(key.days, key.seconds, key.microseconds),
    uuid.UUID: lambda key: key.int,
}


def stable_hash(key: Any) -> int:
    """A 64-bit hash of `key`, well spread in its upper bits."""
    known = _HASHES.get(type(key))
    raw = known(key) if known is not None else _hash_of_other(key)
    return (raw & _MASK) * MIX & _MASK


def _hash_of_other(key: Any) -> int:
    for base in type(key).__mro__[1:]:  # a subclass of str, int (also an IntEnum), tuple, …
        if base in _HASHES:
            return _HASHES[base](key)
    if isinstance(key, enum.Enum):
        return _parts(type(key).__qualname__, key.name)
    if is_dataclass(key) and not isinstance(key, type) and type(key).__hash__ is not None:
        return _parts(*(getattr(key, field.name) for field in fields(key) if field.compare))
    if isinstance(key, numbers.Number):  # a Fraction, NumPy's integers
        return _number(key)
    raise TypeMismatch(
        f"a key of type {type(key).__name__} cannot be distributed: {_shown(key)}",
        hint="Let the key selector return an int, str, bytes, bool, float, None, date, time, "
        "Decimal, UUID, Enum, a tuple or Row of these, or a frozen dataclass.",
    )


def _shown(key: Any) -> str:
    text = repr(key)
    return text if len(text) <= 120 else text[:117] + "..."


def key_group(key: Any, max_parallelism: int) -> int:
    """The key group of `key`: the unit in which state is distributed and rescaled."""
    return (stable_hash(key) >> 32) % max_parallelism


def subtask_of(group: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask that owns a key group: contiguous ranges, as even as they come."""
    return group * parallelism // max_parallelism


class SubtaskOfKey(dict[Any, int]):
    """Looks up the owning subtask of a key, remembering what it worked out before."""

    LIMIT = 100_000

    def __init__(self, parallelism: int, max_parallelism: int):
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        if len(self) >= self.LIMIT:
            self.clear()
        group = key_group(key, self._max_parallelism)
        subtask = subtask_of(group, self._parallelism, self._max_parallelism)
        self[key] = subtask
        return subtask
