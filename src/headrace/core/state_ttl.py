"""How long state lives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from headrace.core.time import Duration, Time
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin


class TtlUpdateType(Enum):
    """What makes a value young again."""

    Disabled = 0
    OnCreateAndWrite = 1
    OnReadAndWrite = 2


class TtlStateVisibility(Enum):
    """Whether a value that has expired but still lies there may be read."""

    ReturnExpiredIfNotCleanedUp = 0
    NeverReturnExpired = 1


class TtlClock(Enum):
    ProcessingTime = 0


@dataclass(frozen=True, slots=True)
class TtlCleanupStrategies:
    """When expired values are thrown away besides on access."""

    class Strategies(Enum):
        FULL_STATE_SCAN_SNAPSHOT = 0
        INCREMENTAL_CLEANUP = 1
        ROCKSDB_COMPACTION_FILTER = 2

    class CleanupStrategy:
        """Base of the strategies' parameters."""

    class EmptyCleanupStrategy(CleanupStrategy):
        """A strategy with nothing to set."""

    @dataclass(frozen=True)
    class IncrementalCleanupStrategy(CleanupStrategy):
        cleanup_size: int = 5
        every_record: bool = False

        def get_cleanup_size(self) -> int:
            return self.cleanup_size

        def run_cleanup_for_every_record(self) -> bool:
            return self.every_record

    @dataclass(frozen=True)
    class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
        query_time_after_num_entries: int = 1000
        periodic_compaction_time: Duration | None = None

        def get_query_time_after_num_entries(self) -> int:
            return self.query_time_after_num_entries

        def get_periodic_compaction_time(self) -> Duration | None:
            return self.periodic_compaction_time

    strategies: dict[Any, Any] = field(default_factory=dict)
    in_background: bool = True

    def is_cleanup_in_background(self) -> bool:
        return self.in_background

    def in_full_snapshot(self) -> bool:
        return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self.strategies

    def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
        found = self.strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
        if found is None and self.in_background:
            return self.IncrementalCleanupStrategy()
        return found

    def get_rocksdb_compact_filter_cleanup_strategy(
        self,
    ) -> RocksdbCompactFilterCleanupStrategy | None:
        return self.strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)


@dataclass(frozen=True, slots=True)
class StateTtlConfig:
    """Time to live of a state, in processing time as in Flink."""

    UpdateType = TtlUpdateType
    StateVisibility = TtlStateVisibility
    TtlTimeCharacteristic = TtlClock
    CleanupStrategies = TtlCleanupStrategies

    ttl: Duration | Time
    update_type: TtlUpdateType = TtlUpdateType.OnCreateAndWrite
    visibility: TtlStateVisibility = TtlStateVisibility.NeverReturnExpired
    time_characteristic: TtlClock = TtlClock.ProcessingTime
    cleanup: TtlCleanupStrategies = field(default_factory=TtlCleanupStrategies)

    @staticmethod
    def new_builder(ttl: Duration | Time) -> Builder:
        return Builder(ttl)

    def milliseconds(self) -> int:
        return _milliseconds(self.ttl)

    def get_update_type(self) -> TtlUpdateType:
        return self.update_type

    def get_state_visibility(self) -> TtlStateVisibility:
        return self.visibility

    def get_ttl(self) -> Duration | Time:
        return self.ttl

    def get_ttl_time_characteristic(self) -> TtlClock:
        return self.time_characteristic

    def is_enabled(self) -> bool:
        return self.update_type is not TtlUpdateType.Disabled

    def get_cleanup_strategies(self) -> TtlCleanupStrategies:
        return self.cleanup


def _milliseconds(ttl: Duration | Time) -> int:
    return ttl.to_milliseconds() if isinstance(ttl, Time) else ttl.to_millis()


def _checked(ttl: Duration | Time) -> Duration | Time:
    if not isinstance(ttl, (Duration, Time)):
        raise InvalidArgument(
            f"a time to live is a Duration or a Time, not {ttl!r}",
            origin=calling_origin(), hint="For instance Duration.of_hours(1).",
        )  # fmt: skip
    if _milliseconds(ttl) <= 0:
        raise InvalidArgument(
            f"a time to live must be longer than zero, not {_milliseconds(ttl)} ms",
            origin=calling_origin(),
        )
    return ttl


class Builder:
    """Builds a StateTtlConfig."""

    def __init__(self, ttl: Duration | Time):
        self._config = StateTtlConfig(_checked(ttl))

    def _set(self, **changes: Any) -> Builder:
        self._config = replace(self._config, **changes)
        return self

    def set_ttl(self, ttl: Duration | Time) -> Builder:
        return self._set(ttl=_checked(ttl))

    def set_update_type(self, update_type: TtlUpdateType) -> Builder:
        return self._set(update_type=update_type)

    def update_ttl_on_create_and_write(self) -> Builder:
        return self._set(update_type=TtlUpdateType.OnCreateAndWrite)

    def update_ttl_on_read_and_write(self) -> Builder:
        return self._set(update_type=TtlUpdateType.OnReadAndWrite)

    def set_state_visibility(self, state_visibility: TtlStateVisibility) -> Builder:
        return self._set(visibility=state_visibility)

    def return_expired_if_not_cleaned_up(self) -> Builder:
        return self._set(visibility=TtlStateVisibility.ReturnExpiredIfNotCleanedUp)

    def never_return_expired(self) -> Builder:
        return self._set(visibility=TtlStateVisibility.NeverReturnExpired)

    def set_ttl_time_characteristic(self, ttl_time_characteristic: TtlClock) -> Builder:
        return self._set(time_characteristic=ttl_time_characteristic)

    def use_processing_time(self) -> Builder:
        return self._set(time_characteristic=TtlClock.ProcessingTime)

    def _clean(self, strategy: TtlCleanupStrategies.Strategies, parameters: object) -> Builder:
        old = self._config.cleanup
        return self._set(cleanup=replace(old, strategies={**old.strategies, strategy: parameters}))

    def cleanup_full_snapshot(self) -> Builder:
        return self._clean(
            TtlCleanupStrategies.Strategies.FULL_STATE_SCAN_SNAPSHOT,
            TtlCleanupStrategies.EmptyCleanupStrategy(),
        )

    def cleanup_incrementally(
        self, cleanup_size: int, run_cleanup_for_every_record: bool
    ) -> Builder:
        return self._clean(
            TtlCleanupStrategies.Strategies.INCREMENTAL_CLEANUP,
            TtlCleanupStrategies.IncrementalCleanupStrategy(
                cleanup_size, run_cleanup_for_every_record
            ),
        )

    def cleanup_in_rocksdb_compact_filter(
        self,
        query_time_after_num_entries: int,
        periodic_compaction_time: Duration | None = None,
    ) -> Builder:
        return self._clean(
            TtlCleanupStrategies.Strategies.ROCKSDB_COMPACTION_FILTER,
            TtlCleanupStrategies.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            ),
        )

    def disable_cleanup_in_background(self) -> Builder:
        return self._set(cleanup=replace(self._config.cleanup, in_background=False))

    def build(self) -> StateTtlConfig:
        return self._config


StateTtlConfig.Builder = Builder  # type: ignore[attr-defined]  # PyFlink nests it
