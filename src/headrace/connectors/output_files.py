"""Where a file sink's records go: which folder, which file name, when a new file starts."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.connectors.argument_checks import require_positive
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = [
    "BucketAssigner",
    "DefaultRollingPolicy",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingPolicy",
]


class BucketAssigner:
    """Chooses the folder below the base path for each record.

    Subclass it and override `bucket_id` to choose by the record's content.
    """

    def bucket_id(self, element: Any, timestamp: int | None) -> str:
        """The folder, relative to the base path; empty for the base path itself."""
        return ""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        return BucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """By the time of writing, in a Java date pattern."""
        return _DateTimeBuckets(format_str, timezone_id)


class _DateTimeBuckets(BucketAssigner):
    def __init__(self, pattern: str, zone: str | None):
        _date_writers(pattern)  # a wrong pattern or zone is refused where it is written
        _zone(zone)
        self.pattern = pattern
        self.zone = zone
        self._last: tuple[int, str] = (-1, "")

    def bucket_id(self, element: Any, timestamp: int | None) -> str:
        now = datetime.datetime.now(_zone(self.zone))
        second = int(now.timestamp())
        # Many records share a second; fractions of one are no sensible folder name.
        if self._last[0] != second:
            self._last = (second, "".join(write(now) for write in _date_writers(self.pattern)))
        return self._last[1]


DateWriter = Callable[[datetime.datetime], str]

_LETTERS: dict[str, str] = {
    "yyyy": "%Y", "uuuu": "%Y", "yy": "%y", "uu": "%y", "MM": "%m", "MMM": "%b", "MMMM": "%B",
    "dd": "%d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "DDD": "%j", "EEE": "%a",
    "EEEE": "%A", "a": "%p",
}  # fmt: skip
_UNPADDED = {"y": "year", "u": "year", "M": "month", "d": "day", "H": "hour", "m": "minute",
             "s": "second"}  # fmt: skip
_PARTS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")


def _date_writers(pattern: str) -> list[DateWriter]:
    writers: list[DateWriter] = []
    place = 0
    for part in _PARTS.finditer(pattern):
        if part.start() != place:
            break
        place = part.end()
        writers.append(_date_writer(part, pattern))
    if place != len(pattern) or not pattern:
        raise InvalidArgument(
            f"the date pattern {pattern!r} has an open quote or is empty", origin=calling_origin()
        )
    return writers


def _date_writer(part: re.Match[str], pattern: str) -> DateWriter:
    text = part[0]
    if part[2] is None:
        literal = "'" if text == "''" else (part[1] or text).replace("''", "'")
        return lambda _: literal
    if text in _LETTERS:
        return lambda moment: moment.strftime(_LETTERS[text])
    if text in _UNPADDED:
        return lambda moment: str(getattr(moment, _UNPADDED[text]))
    raise InvalidArgument(
        f"{text!r} in the date pattern {pattern!r} cannot be written",
        origin=calling_origin(),
        hint=f"Use {', '.join(_LETTERS)}; put other letters between quotes: 'T'.",
    )


_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")


def _zone(name: str | None) -> datetime.tzinfo | None:
    if name is None:
        return None
    if name in ("Z", "UTC", "GMT"):
        return datetime.UTC
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3] or 0)
        signed = -minutes if offset[1] == "-" else minutes
        return datetime.timezone(datetime.timedelta(minutes=signed))
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidArgument(
            f"unknown time zone {name!r}",
            origin=calling_origin(),
            hint="Use a name like Europe/Berlin, or an offset like GMT-08:00.",
        ) from None


@dataclass(frozen=True, slots=True)
class PartFileInfo:
    """A part that is being written: what all its committed segments are together."""

    size: int
    creation_time: int
    last_update_time: int
    """In milliseconds."""


class RollingPolicy(ABC):
    """When a part file is finished, and the next record begins another.

    A part may last for many checkpoints; only what is finished is visible.
    """

    part_size: int | None = None
    """Between two checkpoints a writer begins another part after so many bytes."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        """Asked with every checkpoint."""

    @abstractmethod
    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        """Asked whenever the bucket check interval has passed."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """By size, by age, and by the time since something was last written."""

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int):
        self.part_size: int = require_positive(part_size, "part_size")
        self.rollover_interval = require_positive(rollover_interval, "rollover_interval")
        self.inactivity_interval = require_positive(inactivity_interval, "inactivity_interval")

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return part_file_state.size > self.part_size

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return (
            current_time - part_file_state.creation_time >= self.rollover_interval
            or current_time - part_file_state.last_update_time >= self.inactivity_interval
        )


class OnCheckpointRollingPolicy(RollingPolicy):
    """With every checkpoint, and only then."""

    def should_roll_on_checkpoint(self, part_file_state: PartFileInfo) -> bool:
        return True

    def should_roll_on_processing_time(
        self, part_file_state: PartFileInfo, current_time: int
    ) -> bool:
        return False


def _require_name_part(value: object, what: str) -> None:
    if not isinstance(value, str) or "/" in value or "\0" in value:
        raise InvalidArgument(
            f"{value!r} cannot be the {what} of a file name", origin=calling_origin()
        )


@dataclass(frozen=True, slots=True)
class OutputFileConfig:
    """How the names of part files begin and end."""

    part_prefix: str = "part"
    part_suffix: str = ""

    def __post_init__(self) -> None:
        _require_name_part(self.part_prefix, "prefix")
        _require_name_part(self.part_suffix, "suffix")

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        return self.part_prefix

    def get_part_suffix(self) -> str:
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Settings of an OutputFileConfig."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            return OutputFileConfig(self.part_prefix, self.part_suffix)
