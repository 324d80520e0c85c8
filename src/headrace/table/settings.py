"""What the options of a table environment mean to its queries."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from headrace.core.config import Configuration, parse_duration
from headrace.core.execution_config import PARALLELISM
from headrace.core.older_options import take_over
from headrace.errors import InvalidArgument
from headrace.operators.functions.session import session_time_zone
from headrace.operators.table.awaited_calls import USUAL, AwaitedCalls, session_awaited_calls
from headrace.sql.match_recognize_terms import STRICT as STRICT_PATTERNS
from headrace.table.tableau import WIDEST

CHANGES = "headrace.table.changes"
"""`micro-batch` (default): one change per key and micro-batch. `record`: as Flink without
mini-batches, every record's. BATCH mode knows no changes, there it has no meaning."""
LOCAL_TIME_ZONE = "table.local-time-zone"
DEFAULT_PARALLELISM = "table.exec.resource.default-parallelism"
STATE_TTL = "table.exec.state.ttl"
FORCE_RECOMPILE = "table.plan.force-recompile"
MAX_COLUMN_WIDTH = "table.display.max-column-width"
IDLE_TIMEOUT = "table.exec.source.idle-timeout"
_MODES = ("micro-batch", "record")
_SCALAR, _LOOKUP = "table.exec.async-scalar.", "table.exec.async-lookup."
_RETRIES = ("FIXED_DELAY", "NO_RETRY")
_LOOKUPS_AT_ONCE = 100


@dataclass(frozen=True)
class TableSettings:
    """Reads the configuration anew each time: SET may have changed it."""

    configuration: Configuration
    own: Configuration = field(default_factory=Configuration)
    """What of it is set for tables: it goes before what the stream environment says."""

    def hand_over(self, outer: Configuration) -> None:
        """Let the stream environment run a query as it is set for tables."""
        take_over(outer, self.own)
        wanted = self.configuration.get_integer(DEFAULT_PARALLELISM, -1)
        if wanted > 0:
            outer.set_integer(PARALLELISM, wanted)

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
    def final(self) -> bool:
        """Whether each row of a result is told once, when all input has been read: BATCH mode. A
        job that runs as a stream all the same tells what it knows after each micro-batch."""
        return self.batch and not self.as_stream

    @property
    def per_record(self) -> bool:
        if self.final:
            return False
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
    def widest(self) -> int:
        """How many places a printed column has at most, if its type does not say."""
        return self._number(MAX_COLUMN_WIDTH, WIDEST)

    @property
    def recompiles(self) -> bool:
        """Whether a compiled plan replaces one that is there."""
        return self.configuration.get_boolean(FORCE_RECOMPILE, False)

    @property
    def strict_patterns(self) -> bool:
        """Whether what Flink's MATCH_RECOGNIZE does not have is an error."""
        return self.configuration.get_boolean(STRICT_PATTERNS, False)

    @property
    def ttl_ms(self) -> int | None:
        return self._duration(STATE_TTL) or None

    @property
    def idle_after_ms(self) -> int | None:
        return self._duration(IDLE_TIMEOUT) or None

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Expressions compiled inside mean what the session's options say."""
        with session_time_zone(self.zone), session_awaited_calls(self.awaited_calls):
            yield

    @property
    def awaited_calls(self) -> AwaitedCalls:
        """How asynchronous functions are called."""
        older = self._number(f"{_SCALAR}buffer-capacity", USUAL.concurrent)
        strategy = self.configuration.get_string(f"{_SCALAR}retry-strategy", _RETRIES[0]).upper()
        if strategy not in _RETRIES:
            raise InvalidArgument(
                f"{_SCALAR}retry-strategy is one of {', '.join(_RETRIES)}, not {strategy!r}"
            )
        retries = self._number(f"{_SCALAR}max-attempts", USUAL.retries)
        delay = self._duration(f"{_SCALAR}retry-delay")
        return AwaitedCalls(
            concurrent=self._number(f"{_SCALAR}max-concurrent-operations", older),
            timeout_ms=self._timeout(_SCALAR),
            retries=0 if strategy == "NO_RETRY" else retries,
            delay_ms=USUAL.delay_ms if delay is None else delay,
        )

    @property
    def awaited_lookups(self) -> AwaitedCalls:
        """How tables are asked whose look-ups are asynchronous; one that fails is not repeated."""
        return AwaitedCalls(
            concurrent=self._number(f"{_LOOKUP}buffer-capacity", _LOOKUPS_AT_ONCE),
            timeout_ms=self._timeout(_LOOKUP), retries=0,
        )  # fmt: skip

    def _timeout(self, prefix: str) -> int:
        found = self._duration(f"{prefix}timeout")
        return USUAL.timeout_ms if found is None else found

    def _number(self, key: str, usual: int) -> int:
        text = self.configuration.get_string(key, "")
        if not text:
            return usual
        if not text.strip().isdecimal() or int(text) < 1:
            raise InvalidArgument(f"{key} is a whole number above 0, not {text!r}")
        return int(text)

    def _duration(self, key: str) -> int | None:
        text = self.configuration.get_string(key, "")
        if not text:
            return None
        try:
            return parse_duration(text).to_millis()
        except ValueError:
            raise InvalidArgument(f"{key} is a duration such as '1 h', not {text!r}") from None
