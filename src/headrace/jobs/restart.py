"""Whether a failed job starts again, and how soon: Flink's restart strategies as decisions.

A strategy is told of each failure and answers with the seconds to wait, or None when the job shall
stay failed. It reads no clock and waits for nothing itself.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from headrace.core.config import Configuration
from headrace.core.time import Duration
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

TYPE = "restart-strategy.type"
OLDER_TYPE = "restart-strategy"
_PREFIX = "restart-strategy."

N = TypeVar("N", int, float)

_UNLIMITED = 2**31 - 1
_FAR = 1e9
"""Seconds beyond which a growing wait need not be known."""


class RestartStrategy(ABC):
    """Decides about one job; remembers the failures it was told of."""

    @abstractmethod
    def on_failure(self, now: float) -> float | None:
        """Seconds to wait before the job starts again; None if it shall not.

        `now` is a time in seconds that never goes back.
        """

    @abstractmethod
    def __str__(self) -> str:
        """The strategy in words, for messages."""


class NoRestart(RestartStrategy):
    """A failed job stays failed."""

    def on_failure(self, now: float) -> float | None:
        return None

    def __str__(self) -> str:
        return "no restarts"


class FixedDelay(RestartStrategy):
    """A number of restarts, each after the same wait."""

    def __init__(self, attempts: int = 1, delay: float = 1.0) -> None:
        self._attempts = _at_least("fixed-delay.attempts", attempts, 0)
        self._delay = _at_least("fixed-delay.delay", delay, 0)
        self._failures = 0

    def on_failure(self, now: float) -> float | None:
        self._failures += 1
        return self._delay if self._failures <= self._attempts else None

    def __str__(self) -> str:
        return f"fixed-delay, at most {self._attempts}"


class FailureRate(RestartStrategy):
    """Restarts as long as no interval sees more than a number of failures."""

    def __init__(self, max_failures: int = 1, interval: float = 60.0, delay: float = 1.0) -> None:
        self._max_failures = _at_least("failure-rate.max-failures-per-interval", max_failures, 1)
        self._interval = _more_than("failure-rate.failure-rate-interval", interval, 0)
        self._delay = _at_least("failure-rate.delay", delay, 0)
        self._latest: deque[float] = deque(maxlen=max_failures + 1)

    def on_failure(self, now: float) -> float | None:
        self._latest.append(now)
        is_full = len(self._latest) > self._max_failures
        if is_full and now - self._latest[0] <= self._interval:
            return None
        return self._delay

    def __str__(self) -> str:
        return f"failure-rate, at most {self._max_failures} in {self._interval:g} s"


class ExponentialDelay(RestartStrategy):
    """Waits that grow from failure to failure, until the job has run long enough without one."""

    def __init__(
        self, initial: float = 1.0, longest: float = 60.0, multiplier: float = 1.5,
        reset_after: float = 3600.0, jitter: float = 0.1, attempts: int = _UNLIMITED,
        draw: Callable[[float, float], float] = random.uniform,
    ) -> None:  # fmt: skip
        self._initial = _more_than("exponential-delay.initial-backoff", initial, 0)
        self._longest = _at_least("exponential-delay.max-backoff", longest, initial)
        self._multiplier = _more_than("exponential-delay.backoff-multiplier", multiplier, 1)
        self._reset_after = _more_than("exponential-delay.reset-backoff-threshold", reset_after, 0)
        self._jitter = _at_least("exponential-delay.jitter-factor", jitter, 0)
        if jitter > 1:
            raise _invalid("exponential-delay.jitter-factor", "at most 1", jitter)
        self._attempts = _at_least("exponential-delay.attempts-before-reset-backoff", attempts, 1)
        self._draw = draw
        self._backoff = initial
        self._failures = 0
        self._restarted_at = -math.inf

    def on_failure(self, now: float) -> float | None:
        # Time spent waiting for a restart is no time without failure.
        if now - self._restarted_at >= self._reset_after:
            self._backoff = self._initial
            self._failures = 0
        spread = self._backoff * self._jitter
        delay = self._backoff + (self._draw(-spread, spread) if spread else 0.0)
        delay = max(self._initial, min(delay, self._longest))
        self._backoff = min(self._backoff * self._multiplier, _FAR)
        self._failures += 1
        self._restarted_at = now + delay
        return delay if self._failures <= self._attempts else None

    def __str__(self) -> str:
        limit = "" if self._attempts == _UNLIMITED else f", at most {self._attempts} in a row"
        return f"exponential-delay from {self._initial:g} s to {self._longest:g} s{limit}"


def restart_strategy(
    configuration: Configuration, checkpointing: bool,
    draw: Callable[[float, float], float] = random.uniform,
) -> RestartStrategy:  # fmt: skip
    """What the settings say; Flink restarts by default only what has checkpoints to go back to."""
    default = "exponential-delay" if checkpointing else "none"
    asked = configuration.get_string(TYPE, configuration.get_string(OLDER_TYPE, default))
    settings = _Settings(configuration)
    match asked.strip().lower().replace("-", ""):
        case "none" | "off" | "disable":
            return NoRestart()
        case "fixeddelay":
            return _fixed_delay(settings)
        case "failurerate":
            return _failure_rate(settings)
        case "exponentialdelay":
            return _exponential_delay(settings, draw)
    raise InvalidArgument(
        f"setting {TYPE!r} is {asked!r}, which is no restart strategy",
        origin=calling_origin(),
        hint="Use none, fixed-delay, failure-rate or exponential-delay.",
    )


class _Settings:
    """The settings of the strategies, with times in seconds."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def count(self, key: str, default: int) -> int:
        return self._configuration.get_integer(_PREFIX + key, default)

    def number(self, key: str, default: float) -> float:
        return self._configuration.get_float(_PREFIX + key, default)

    def seconds(self, key: str, default: int) -> float:
        fallback = Duration.of_seconds(default)
        return self._configuration.get_duration(_PREFIX + key, fallback).nanos / 1e9


def _fixed_delay(settings: _Settings) -> FixedDelay:
    return FixedDelay(
        settings.count("fixed-delay.attempts", 1), settings.seconds("fixed-delay.delay", 1)
    )


def _failure_rate(settings: _Settings) -> FailureRate:
    return FailureRate(
        settings.count("failure-rate.max-failures-per-interval", 1),
        settings.seconds("failure-rate.failure-rate-interval", 60),
        settings.seconds("failure-rate.delay", 1),
    )


def _exponential_delay(
    settings: _Settings, draw: Callable[[float, float], float]
) -> ExponentialDelay:
    return ExponentialDelay(
        settings.seconds("exponential-delay.initial-backoff", 1),
        settings.seconds("exponential-delay.max-backoff", 60),
        settings.number("exponential-delay.backoff-multiplier", 1.5),
        settings.seconds("exponential-delay.reset-backoff-threshold", 3600),
        settings.number("exponential-delay.jitter-factor", 0.1),
        settings.count("exponential-delay.attempts-before-reset-backoff", _UNLIMITED),
        draw,
    )


def _at_least(what: str, value: N, least: float) -> N:
    if not value >= least:
        raise _invalid(what, f"at least {least:g}", value)
    return value


def _more_than(what: str, value: N, bound: float) -> N:
    if not value > bound:
        raise _invalid(what, f"more than {bound:g}", value)
    return value


def _invalid(what: str, wanted: str, value: float) -> InvalidArgument:
    return InvalidArgument(
        f"setting {_PREFIX + what!r} must be {wanted}, not {value:g}", origin=calling_origin()
    )
