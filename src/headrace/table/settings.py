"""What the options of a table environment mean to its queries."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.core.config import Configuration, parse_duration
from headrace.errors import InvalidArgument

CHANGES = "headrace.table.changes"
"""`micro-batch` (default): one change per key and micro-batch. `record`: as Flink without
mini-batches, every record's."""
LOCAL_TIME_ZONE = "table.local-time-zone"
STATE_TTL = "table.exec.state.ttl"
IDLE_TIMEOUT = "table.exec.source.idle-timeout"
_MODES = ("micro-batch", "record")


@dataclass(frozen=True)
class TableSettings:
    """Reads the configuration anew each time: SET may have changed it."""

    configuration: Configuration

    @property
    def as_stream(self) -> bool:
        """Whether jobs run as streams also over tables that end: they are checkpointed, or start
        from a savepoint."""
        return (
            self._duration("execution.checkpointing.interval") is not None
            or bool(self.configuration.get_string("execution.state-recovery.path", ""))
            or bool(self.configuration.get_string("execution.savepoint.path", ""))
            or os.environ.get("HEADRACE_MODE") == "stream"
        )

    @property
    def options(self) -> Mapping[str, str]:
        return self.configuration.to_dict()

    @property
    def per_record(self) -> bool:
        # Programs written for PyFlink expect the changes that Flink makes.
        usual = "record" if "pyflink.table" in sys.modules else "micro-batch"
        found = self.configuration.get_string(CHANGES, usual)
        if found not in _MODES:
            raise InvalidArgument(f"{CHANGES} is one of {', '.join(_MODES)}, not {found!r}")
        return found == "record"

    @property
    def zone(self) -> str:
        found = self.configuration.get_string(LOCAL_TIME_ZONE, "default")
        return "UTC" if found == "default" else found

    @property
    def batch(self) -> bool:
        return self.configuration.get_string("execution.runtime-mode", "").upper() == "BATCH"

    @property
    def ttl_ms(self) -> int | None:
        return self._duration(STATE_TTL) or None

    @property
    def idle_after_ms(self) -> int | None:
        return self._duration(IDLE_TIMEOUT) or None

    def _duration(self, key: str) -> int | None:
        text = self.configuration.get_string(key, "")
        if not text:
            return None
        try:
            return parse_duration(text).to_millis()
        except ValueError:
            raise InvalidArgument(f"{key} is a duration such as '1 h', not {text!r}") from None
