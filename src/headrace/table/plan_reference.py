"""References to compiled plans, which do not exist here."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from headrace.table.compiled_plan import no_compiled_plans

__all__ = [
    "BytesContentPlanReference",
    "FilePlanReference",
    "JsonContentPlanReference",
    "PlanReference",
]


class PlanReference:
    """Where a compiled plan is."""

    def __init__(self, *_args: object) -> None:
        raise no_compiled_plans()

    @staticmethod
    def from_file(path: str | Path) -> NoReturn:
        raise no_compiled_plans()

    @staticmethod
    def from_json_string(json_string: str) -> NoReturn:
        raise no_compiled_plans()

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> NoReturn:
        raise no_compiled_plans()


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def __init__(self, *_args: object) -> None:
        raise no_compiled_plans()


class JsonContentPlanReference(PlanReference):
    """A plan as text."""

    def __init__(self, *_args: object) -> None:
        raise no_compiled_plans()


class BytesContentPlanReference(PlanReference):
    """A plan as bytes."""

    def __init__(self, *_args: object) -> None:
        raise no_compiled_plans()
