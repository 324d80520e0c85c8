"""Restart strategies decide as Flink's do."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.config import Configuration
from headrace.errors import HeadraceError, InvalidArgument
from headrace.jobs.restart import (
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    RestartStrategy,
    restart_strategy,
)


def chosen(checkpointing: bool = False, **settings: str) -> RestartStrategy:
    keys = {name.replace("__", ".").replace("_", "-"): text for name, text in settings.items()}
    return restart_strategy(
        Configuration.from_dict({f"restart-strategy.{key}": text for key, text in keys.items()}),
        checkpointing,
        draw=lambda low, high: 0.0,
    )


def test_no_restart() -> None:
    assert NoRestart().on_failure(0) is None


def test_fixed_delay() -> None:
    strategy = FixedDelay(attempts=2, delay=3)
    assert [strategy.on_failure(now) for now in (0, 1, 10_000)] == [3, 3, None]


def test_fixed_delay_without_attempts() -> None:
    assert FixedDelay(attempts=0).on_failure(0) is None


def test_failure_rate() -> None:
    strategy = FailureRate(max_failures=2, interval=10, delay=1)
    # The interval is exceeded by the third failure in it, and 10 s apart is still in it.
    assert [strategy.on_failure(now) for now in (0, 9, 10.5, 20, 20.4)] == [1, 1, 1, 1, None]
    strategy = FailureRate(max_failures=2, interval=10, delay=1)
    assert [strategy.on_failure(now) for now in (0, 9, 10)] == [1, 1, None]


def test_exponential_delay_grows_to_its_limit() -> None:
    strategy = ExponentialDelay(1, 10, 2, reset_after=100, jitter=0)
    assert [strategy.on_failure(now) for now in range(0, 600, 60)][:6] == [1, 2, 4, 8, 10, 10]


def test_exponential_delay_starts_anew() -> None:
    strategy = ExponentialDelay(1, 60, 2, reset_after=100, jitter=0)
    assert [strategy.on_failure(now) for now in (0, 5, 10)] == [1, 2, 4]
    # 14 is when the job ran again: the wait itself does not count.
    assert strategy.on_failure(113.9) == 8
    assert strategy.on_failure(121.9 + 100) == 1


def test_exponential_delay_attempts_count_since_the_reset() -> None:
    strategy = ExponentialDelay(1, 60, 2, reset_after=100, jitter=0, attempts=2)
    assert [strategy.on_failure(now) for now in (0, 5, 200, 205, 210)] == [1, 2, 1, 2, None]


def test_exponential_delay_never_overflows() -> None:
    strategy = ExponentialDelay(1, 60, 1e300, reset_after=1e9)
    delays = [strategy.on_failure(float(now)) for now in range(5000)]
    assert delays[0] == pytest.approx(1, rel=0.2)
    assert set(delays[1:]) == {60}


@given(
    initial=st.floats(0.001, 10),
    times=st.floats(1, 100),
    multiplier=st.floats(1.01, 5),
    reset_after=st.floats(0.001, 1000),
    jitter=st.floats(0, 1),
    runs=st.lists(st.floats(0, 2000), min_size=1, max_size=40),
    drawn=st.floats(0, 1),
)
def test_exponential_delay_properties(
    initial: float, times: float, multiplier: float, reset_after: float, jitter: float,
    runs: list[float], drawn: float,
) -> None:  # fmt: skip
    """`runs`: how long the job runs between a restart and the next failure."""
    longest = initial * times

    def make(jitter: float) -> ExponentialDelay:
        return ExponentialDelay(
            initial, longest, multiplier, reset_after, jitter,
            draw=lambda low, high: low + drawn * (high - low),
        )  # fmt: skip

    steady, jittery = make(0), make(jitter)
    now, steady_delays = 0.0, []
    for run in runs:
        delay = steady.on_failure(now + run)
        assert delay is not None
        steady_delays.append(delay)
        now += run + delay
    now = 0.0
    for run in runs:
        delay = jittery.on_failure(now + run)
        assert delay is not None
        assert initial <= delay <= longest
        now += run + delay
    assert steady_delays[0] == initial
    for (before, after), run in zip(pairwise(steady_delays), runs[1:], strict=True):
        # Sums of floats are not exact: runs as long as the threshold may go either way.
        if run > reset_after * 1.001 + 1e-6:
            assert after == initial
        elif run < reset_after * 0.999 - 1e-6:
            assert after == pytest.approx(min(before * multiplier, longest))


def test_default_depends_on_checkpoints() -> None:
    assert isinstance(chosen(checkpointing=False), NoRestart)
    assert isinstance(chosen(checkpointing=True), ExponentialDelay)


@pytest.mark.parametrize("name", ["none", "off", "disable", "NONE"])
def test_switched_off(name: str) -> None:
    assert isinstance(chosen(checkpointing=True, type=name), NoRestart)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fixed-delay", FixedDelay),
        ("fixeddelay", FixedDelay),
        ("failure-rate", FailureRate),
        ("failurerate", FailureRate),
        ("exponential-delay", ExponentialDelay),
        ("exponentialdelay", ExponentialDelay),
    ],
)
def test_names(name: str, kind: type[RestartStrategy]) -> None:
    assert isinstance(chosen(type=name), kind)


def test_older_key() -> None:
    older = Configuration.from_dict({"restart-strategy": "fixed-delay"})
    assert isinstance(restart_strategy(older, checkpointing=False), FixedDelay)


def test_flinks_defaults() -> None:
    fixed = chosen(type="fixed-delay")
    assert [fixed.on_failure(0), fixed.on_failure(9)] == [1, None]
    rate = chosen(type="failure-rate")
    assert [rate.on_failure(0), rate.on_failure(60), rate.on_failure(200)] == [1, None, 1]
    growing = chosen(type="exponential-delay")
    delays = [growing.on_failure(now) for now in range(0, 1200, 100)]
    assert delays[:4] == [1, 1.5, 2.25, 3.375]
    assert delays[-1] == 60
    assert growing.on_failure(1100 + 60 + 3600) == 1


def test_settings_are_read() -> None:
    fixed = chosen(type="fixed-delay", fixed_delay__attempts="2", fixed_delay__delay="250 ms")
    assert [fixed.on_failure(0) for _ in range(3)] == [0.25, 0.25, None]
    rate = chosen(
        type="failure-rate", failure_rate__max_failures_per_interval="2",
        failure_rate__failure_rate_interval="10 s", failure_rate__delay="0 s",
    )  # fmt: skip
    assert [rate.on_failure(now) for now in (0, 1, 2)] == [0, 0, None]
    growing = chosen(
        type="exponential-delay", exponential_delay__initial_backoff="2 s",
        exponential_delay__max_backoff="8 s", exponential_delay__backoff_multiplier="3",
        exponential_delay__reset_backoff_threshold="1 min", exponential_delay__jitter_factor="0",
        exponential_delay__attempts_before_reset_backoff="3",
    )  # fmt: skip
    assert [growing.on_failure(now) for now in (0, 3, 10, 20)] == [2, 6, 8, None]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"type": "sometimes"}, "sometimes"),
        ({"type": "fixed-delay", "fixed_delay__attempts": "-1"}, "fixed-delay.attempts"),
        ({"type": "fixed-delay", "fixed_delay__delay": "soon"}, "fixed-delay.delay"),
        ({"type": "failure-rate", "failure_rate__failure_rate_interval": "0 s"}, "interval"),
        ({"type": "exponential-delay", "exponential_delay__jitter_factor": "1.5"}, "jitter"),
        ({"type": "exponential-delay", "exponential_delay__backoff_multiplier": "1"}, "multipl"),
        ({"type": "exponential-delay", "exponential_delay__max_backoff": "1 ms"}, "max-backoff"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named) as caught:
        chosen(checkpointing=False, **settings)
    assert isinstance(caught.value, HeadraceError)
    assert caught.value.origin is not None


def test_strategies_describe_themselves() -> None:
    assert str(FixedDelay(3)) == "fixed-delay, at most 3"
    assert str(FailureRate(2, 60)) == "failure-rate, at most 2 in 60 s"
    assert str(ExponentialDelay()) == "exponential-delay from 1 s to 60 s"
    assert str(ExponentialDelay(attempts=4)).endswith("at most 4 in a row")
