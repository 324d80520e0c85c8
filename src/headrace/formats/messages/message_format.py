"""What a connector of messages needs of a format: bytes to rows, and rows to bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from headrace.core.logical_types import LogicalType, RowType
from headrace.core.table_connector import APPEND, KIND_TEXTS, ChangelogMode
from headrace.errors import TypeMismatch, Unsupported

__all__ = [
    "BadMessage",
    "Change",
    "Decode",
    "Encode",
    "MessageFormat",
    "bad_message",
    "check_insert",
    "missing_package",
    "shown_message",
]

Change = tuple[Any, ...]
"""(kind, column, …, metadata, …): the kind is one of `headrace.core.table_connector`, values are
in internal form."""
Decode = Callable[[bytes], list[Change]]
"""The changes that one message says, none for a tombstone; raises BadMessage."""
Encode = Callable[[Change], bytes]
"""The message that says one change."""

_LONGEST_SHOWN = 500
_HINT = (
    "Correct the data or the declared types, or set 'bad-rows' = 'skip' or 'dead-letter' to go on "
    "without such rows."
)


class BadMessage(ValueError):
    """A message that is no row of the table; the text says why, the caller knows where."""


class MessageFormat(ABC):
    """A format with its options: small, and travels to the workers, which make the functions."""

    name: str
    changelog: ChangelogMode = APPEND
    """Which changes are read, and which can be written."""

    def metadata(self) -> Mapping[str, LogicalType]:
        """What else can be read of a message, by Flink's names."""
        return {}

    @abstractmethod
    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        """Reads messages as rows of these columns and metadata."""

    @abstractmethod
    def encoder(self, row: RowType) -> Encode:
        """Writes rows of these columns."""


def shown_message(message: bytes) -> str:
    """A message as people can read it, cut where it gets long."""
    try:
        return message[: _LONGEST_SHOWN * 4].decode()[:_LONGEST_SHOWN]
    except UnicodeDecodeError:
        return message[: _LONGEST_SHOWN // 2].hex(" ")


def bad_message(format_name: str, place: str, reason: object, message: bytes) -> TypeMismatch:
    """The error that ends a job; `place` is where the message came from."""
    return TypeMismatch(
        f"cannot read {format_name.upper()} of {place}: {reason}: {shown_message(message)}",
        hint=_HINT,
    )


def check_insert(format_name: str, change: Change) -> None:
    """Refuse to write a change that the format has no form for."""
    if change[0] != 0:
        raise Unsupported(
            f"format '{format_name}' has no form for a change {KIND_TEXTS[change[0]]}",
            hint="Write to an upsert table, or use a changelog format such as debezium-json.",
        )


def missing_package(package: str, extra: str) -> Unsupported:
    """The error for a library that is not installed."""
    return Unsupported(
        f"the package {package} is needed: install headrace[{extra}]",
        hint=f"pip install 'headrace[{extra}]'; on a cluster, on all machines.",
    )
