"""Where a compiled plan is: in a file, in a text, in bytes."""

from __future__ import annotations

from pathlib import Path

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = [
    "BytesContentPlanReference",
    "FilePlanReference",
    "JsonContentPlanReference",
    "PlanReference",
]


class PlanReference:
    """Where a compiled plan is."""

    text: str
    """The plan itself, or the path of its file."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.text})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.text == getattr(other, "text", None)

    def __hash__(self) -> int:
        return hash((type(self), self.text))

    @staticmethod
    def from_file(path: str | Path) -> FilePlanReference:
        return FilePlanReference(str(path))

    @staticmethod
    def from_json_string(json_string: str) -> JsonContentPlanReference:
        return JsonContentPlanReference(json_string)

    @staticmethod
    def from_smile_bytes(smile_bytes: bytes) -> BytesContentPlanReference:
        """What CompiledPlan.as_smile_bytes() gave."""
        try:
            return BytesContentPlanReference(smile_bytes.decode())
        except UnicodeDecodeError as error:
            raise InvalidArgument(
                "these bytes are no plan that headrace has compiled", origin=calling_origin()
            ) from error


class FilePlanReference(PlanReference):
    """A plan in a file."""

    def get_file(self) -> Path:
        return Path(self.text)


class JsonContentPlanReference(PlanReference):
    """A plan as text."""

    def get_content(self) -> str:
        return self.text


class BytesContentPlanReference(PlanReference):
    """A plan as bytes."""

    def get_content(self) -> bytes:
        return self.text.encode()
