"""The hash that decides where a key lives: stable, fair, and equal for equal keys."""

import datetime
import enum
import os
import subprocess
import sys
import uuid
from collections import Counter, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.keys import SubtaskOfKey, key_group, stable_hash, subtask_of
from headrace.core.rows import Row
from headrace.errors import TypeMismatch


class Color(enum.Enum):
    RED = 1
    ROT = RED


class Size(enum.IntEnum):
    LARGE = 3


class Word(str):
    __slots__ = ()


Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Account:
    bank: str
    number: int
    note: str = field(default="", compare=False)


GOLDEN = {
    "word": 28193,
    "": 0,
    "straße": 18832,
    b"bytes": 4835,
    0: 0,
    1: 31161,
    -1: 3213,
    2**70: 29438,
    1.5: 31161,
    None: 28030,
    ("a", 1, None): 7763,
    datetime.date(2024, 2, 29): 1914,
    datetime.datetime(2024, 2, 29, 12, 30): 19111,
    Decimal("1.10"): 12785,
    uuid.UUID(int=7): 21522,
    frozenset({"a", "b"}): 6906,
}
"""Key groups of 2**15. Written state is found by them, so they must never change."""


def _name(key: Any) -> str:
    """The same in every process, whatever order its sets have."""
    return f"frozenset({sorted(key)})" if isinstance(key, frozenset) else repr(key)


@pytest.mark.parametrize("key", GOLDEN, ids=_name)
def test_key_groups_never_change(key: Any) -> None:
    assert key_group(key, 2**15) == GOLDEN[key]


_PRINT_HASHES = """
import datetime, decimal, enum, uuid
from headrace.core.keys import stable_hash
from headrace.core.rows import Row
class Color(enum.Enum):
    RED = 1
keys = ["text", b"bytes", 7, 1.5, None, True, float("nan"), decimal.Decimal("NaN"),
        ("a", ("b", 1)), Row("a", 1), Color.RED, frozenset({"a", "b", "c"}),
        datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1), datetime.time(1, 2),
        datetime.timedelta(1, 2, 3), uuid.UUID(int=5)]
print([stable_hash(key) for key in keys])
"""


def test_processes_with_different_hash_seeds_agree() -> None:
    path = os.pathsep.join(path for path in sys.path if path)
    answers = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_HASHES],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(answers) == 1


NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
WEST = datetime.timezone(datetime.timedelta(hours=-5))


@pytest.mark.parametrize(
    "equal",
    [
        (1, 1.0, True, Decimal(1), Fraction(1), complex(1)),
        (0, 0.0, -0.0, False),
        (2.5, Decimal("2.50"), Fraction(5, 2)),
        (3, Size.LARGE),
        ("a", Word("a")),
        ((1, 2), (1.0, 2.0), Point(1, 2)),
        (Row(1, "a"), Row(1.0, "a")),
        (NOON, NOON.astimezone(WEST)),
        (
            datetime.time(12, 30, 1, 5, tzinfo=datetime.UTC),
            datetime.time(7, 30, 1, 5, tzinfo=WEST),
        ),
        (datetime.timedelta(hours=24), datetime.timedelta(days=1)),
        (Color.RED, Color.ROT),
        (uuid.UUID(int=9), uuid.UUID(hex="0" * 31 + "9")),
        (frozenset({1, 2}), frozenset({2, 1})),
        (Account("b", 1), Account("b", 1, "not compared")),
    ],
    ids=repr,
)
def test_equal_keys_hash_alike(equal: tuple[Any, ...]) -> None:
    assert all(key == equal[0] for key in equal)
    assert len({stable_hash(key) for key in equal}) == 1


numbers = st.integers() | st.floats(allow_nan=False) | st.booleans() | st.decimals(allow_nan=False)
plain = numbers | st.text() | st.binary() | st.none() | st.dates() | st.datetimes() | st.uuids()
keys = st.recursive(plain, lambda inner: st.tuples(inner, inner), max_leaves=4)


@given(keys, keys)
def test_whatever_is_equal_hashes_alike(one: Any, other: Any) -> None:
    if one == other:
        assert stable_hash(one) == stable_hash(other)
    assert 0 <= key_group(one, 128) < 128


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "b"), (1, 2), (("a", "b"), ("b", "a")), (("ab", ""), ("a", "b")), (None, 0), ("1", 1)],
)
def test_different_keys_hash_differently(one: Any, other: Any) -> None:
    assert stable_hash(one) != stable_hash(other)


@pytest.mark.parametrize(
    "make",
    [
        str,
        "user-{}".format,
        int,
        lambda i: i * 128,
        lambda i: i << 32,
        lambda i: -i,
        float,
        lambda i: (i % 100, i // 100),
        lambda i: datetime.date(2000, 1, 1) + datetime.timedelta(days=i),
    ],
    ids=["digits", "text", "int", "times128", "shifted", "negative", "float", "pair", "date"],
)
def test_keys_spread_evenly_over_key_groups(make: Callable[[int], Any]) -> None:
    each = 100
    counts = Counter(key_group(make(i), 128) for i in range(128 * each))
    assert len(counts) == 128
    # Chance alone stays well inside these bounds; a hash with a pattern does not.
    assert each * 0.5 < min(counts.values())
    assert max(counts.values()) < each * 1.6


@pytest.mark.parametrize(
    ("parallelism", "max_parallelism"),
    [(1, 1), (1, 128), (2, 7), (7, 7), (2, 128), (3, 128), (7, 128), (100, 128), (100, 2**15)],
)
def test_subtasks_own_contiguous_ranges_that_cover_all(
    parallelism: int, max_parallelism: int
) -> None:
    owners = [subtask_of(group, parallelism, max_parallelism) for group in range(max_parallelism)]
    assert owners == sorted(owners)
    sizes = Counter(owners)
    assert sizes.keys() == set(range(parallelism))
    assert max(sizes.values()) - min(sizes.values()) <= 1


def test_the_lookup_agrees_and_forgets_when_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubtaskOfKey, "LIMIT", 10)
    owner = SubtaskOfKey(3, 128)
    for key in [*range(25), *range(25)]:
        assert owner[key] == subtask_of(key_group(key, 128), 3, 128)
        assert len(owner) <= 10


@dataclass
class Mutable:
    value: int


@pytest.mark.parametrize("key", [[1], {"a": 1}, {1}, object(), Mutable(1), (1, [2]), int])
def test_what_cannot_be_a_key_is_refused(key: Any) -> None:
    with pytest.raises(TypeMismatch, match="cannot be distributed") as caught:
        stable_hash(key)
    assert "tuple" in str(caught.value.hint)


def test_a_long_key_is_shortened_in_the_message() -> None:
    with pytest.raises(TypeMismatch) as caught:
        stable_hash([0] * 1000)
    assert len(caught.value.message) < 250
