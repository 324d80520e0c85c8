"""What happens to a job that fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration(ABC):
    """Whether, how often and how soon a failed job starts again."""

    @abstractmethod
    def get_description(self) -> str:
        """The strategy in words."""


def _interval(value: timedelta | int) -> timedelta:
    return value if isinstance(value, timedelta) else timedelta(milliseconds=value)


def _require_at_least(what: str, value: int | timedelta, least: int | timedelta) -> None:
    if value < least:  # type: ignore[operator]
        raise InvalidArgument(
            f"{what} must be at least {least}, not {value}", origin=calling_origin()
        )


class RestartStrategies:
    """Makes restart strategies; plain numbers of time are milliseconds."""

    @dataclass(frozen=True)
    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A failed job stays failed."""

        def get_description(self) -> str:
            return "Restart deactivated."

    @dataclass(frozen=True)
    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """What the cluster's configuration says."""

        def get_description(self) -> str:
            return "Cluster level default restart strategy"

    @dataclass(frozen=True)
    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A number of restarts, each after the same wait."""

        restart_attempts: int
        delay_between_attempts_interval: timedelta

        def __post_init__(self) -> None:
            delay = _interval(self.delay_between_attempts_interval)
            _require_at_least("the number of restarts", self.restart_attempts, 0)
            _require_at_least("the wait before a restart", delay, timedelta(0))
            object.__setattr__(self, "delay_between_attempts_interval", delay)

        def get_restart_attempts(self) -> int:
            return self.restart_attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            return (
                f"Restart with fixed delay ({self.delay_between_attempts_interval}). "
                f"#{self.restart_attempts} restart attempts."
            )

    @dataclass(frozen=True)
    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as failures are not more frequent than a limit."""

        max_failure_rate: int
        failure_interval: timedelta
        delay_between_attempts_interval: timedelta

        def __post_init__(self) -> None:
            interval = _interval(self.failure_interval)
            delay = _interval(self.delay_between_attempts_interval)
            _require_at_least("the number of failures", self.max_failure_rate, 1)
            _require_at_least("the failure interval", interval, timedelta(milliseconds=1))
            _require_at_least("the wait before a restart", delay, timedelta(0))
            object.__setattr__(self, "failure_interval", interval)
            object.__setattr__(self, "delay_between_attempts_interval", delay)

        def get_max_failure_rate(self) -> int:
            return self.max_failure_rate

        def get_failure_interval(self) -> timedelta:
            return self.failure_interval

        def get_delay_between_attempts_interval(self) -> timedelta:
            return self.delay_between_attempts_interval

        def get_description(self) -> str:
            return (
                f"Failure rate restart with maximum of {self.max_failure_rate} failures within "
                f"{self.failure_interval} and a wait of {self.delay_between_attempts_interval}"
            )

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> FixedDelayRestartStrategyConfiguration:
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(
            restart_attempts, _interval(delay_between_attempts)
        )

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> FailureRateRestartStrategyConfiguration:
        return RestartStrategies.FailureRateRestartStrategyConfiguration(
            failure_rate, _interval(failure_interval), _interval(delay_interval)
        )
