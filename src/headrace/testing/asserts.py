"""Comparing results whose order does not matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["assert_same_records", "difference"]

_MOST_SHOWN = 20


def difference(actual: Iterable[Any], expected: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """The records that are missing and those too many; records need not be hashable."""
    surplus: dict[str, list[Any]] = {}
    for record in actual:
        surplus.setdefault(repr(record), []).append(record)
    missing = []
    for record in expected:
        alike = surplus.get(repr(record))
        if alike:
            alike.pop()
        else:
            missing.append(record)
    left = [record for alike in surplus.values() for record in alike]
    return _cancel_equal(missing, left)


def _cancel_equal(missing: list[Any], surplus: list[Any]) -> tuple[list[Any], list[Any]]:
    # Equal records may look different: 1 and 1.0, or sets of another order.
    unmatched = []
    for record in missing:
        if record in surplus:
            surplus.remove(record)
        else:
            unmatched.append(record)
    return unmatched, surplus


def assert_same_records(
    actual: Iterable[Any], expected: Iterable[Any], what: str = "records"
) -> None:
    """Fail unless both hold the same records, each as often, in whatever order."""
    given, wanted = list(actual), list(expected)
    missing, surplus = difference(given, wanted)
    if not missing and not surplus:
        return
    lines = [f"{what}: {len(given)} given, {len(wanted)} expected"]
    lines += _listed("missing", "-", missing) + _listed("unexpected", "+", surplus)
    raise AssertionError("\n".join(lines))


def _listed(title: str, sign: str, records: list[Any]) -> list[str]:
    if not records:
        return []
    lines = [f"  {title}:"] + [f"    {sign} {record!r}" for record in records[:_MOST_SHOWN]]
    if len(records) > _MOST_SHOWN:
        lines.append(f"    … and {len(records) - _MOST_SHOWN} more")
    return lines
