"""What is compared, one module for each theme."""

from __future__ import annotations

from importlib import import_module

from compare.case import Case

THEMES = (
    "sink_casts",
    "casts",
    "coercions",
    "over_frames",
    "joins",
    "aggregates",
    "functions",
    "statements",
    "python_api",
    "conversions",
    "user_functions",
    "streams",
    "time_and_state",
    "catalogs",
    "legacy_files",
    "join_edges",
)


def cases_of(theme: str) -> list[Case]:
    """The cases of a theme, in the order they run."""
    return list(import_module(f"compare.themes.{theme}").cases())
