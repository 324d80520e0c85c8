"""Every built-in function by its SQL name."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from headrace.sql.functions.row import FunctionRow

FAMILIES: tuple[str, ...] = (
    "comparison",
    "logical",
    "arithmetic",
    "numeric",
    "conditional",
    "temporal",
    "clock",
    "values",
    "grouping",
    "strings",
    "regular_expressions",
    "json",
    "urls_and_hashes",
    "collections",
    "bitmaps",
    "variants",
    "catalog",
    "aggregates",
    "table_functions",
)
"""Modules of this package, each with FUNCTIONS."""


@cache
def all_rows() -> tuple[FunctionRow, ...]:
    """The rows of all families. Loaded when first asked for: modules import each other's rows."""
    return tuple(row for rows in families().values() for row in rows)


def families() -> dict[str, tuple[FunctionRow, ...]]:
    """The rows of each family by what it is about."""
    return {
        family.replace("_", " ").capitalize(): import_module(f"{__name__}.{family}").FUNCTIONS
        for family in FAMILIES
    }


@cache
def _by_name() -> dict[str, FunctionRow]:
    return {name: row for row in all_rows() for name in row.names}


def find(name: str) -> FunctionRow | None:
    """The row of a function by any of its names, in any case."""
    return _by_name().get(name.upper())


def names() -> tuple[str, ...]:
    """All names, sorted."""
    return tuple(sorted(_by_name()))
