"""A small fraud detector.

A thief tries a stolen card with a tiny payment before the big one. The job remembers, for each
card, that the last payment was tiny, and forgets it after a minute of event time. Payments that
come too late to be judged go to a side output instead of being lost.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import DataGeneratorSource
from headrace.datastream.state import ValueStateDescriptor

TINY = 1.0
LARGE = 500.0
MINUTE = 60_000
LATE = OutputTag("late-payments")
CARDS = 5_000
START = 1_700_000_000_000
MILLISECONDS_APART = 5


@dataclass(frozen=True)
class Payment:
    """One use of a card."""

    card: int
    time: int
    amount: float
    city: str


def make_payment(number: int) -> Payment:
    """The payment with a given number: mostly harmless, in order and of a stolen card rarely."""
    dice = random.Random(number)
    time = START + number * MILLISECONDS_APART
    card = dice.randrange(CARDS)
    if number % 1000 == 3:  # the thief's first try …
        return Payment(number // 1000 % CARDS, time, 0.5, "Metropolis")
    if number % 1000 == 403:  # … and the real one, two seconds later
        return Payment(number // 1000 % CARDS, time, dice.uniform(600, 2000), "Metropolis")
    if dice.random() < 0.001:  # a terminal that was offline
        time -= 10 * MINUTE
    return Payment(card, time, round(dice.lognormvariate(3.0, 1.0) + TINY, 2), "Springfield")


class PaymentTime(TimestampAssigner):
    """Event time is when the card was used."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.time)


class FraudDetector(KeyedProcessFunction):
    """Yields an alert for a large payment that follows a tiny one within a minute."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.tiny_at = runtime_context.get_state(ValueStateDescriptor("tiny-at", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield LATE, value
            return
        since = self.tiny_at.value()
        if since is not None and value.amount > LARGE:
            yield value.card, value.time, value.amount, value.time - since
        if since is not None:
            ctx.timer_service().delete_event_time_timer(since + MINUTE)
            self.tiny_at.clear()
        if value.amount < TINY:
            self.tiny_at.update(value.time)
            ctx.timer_service().register_event_time_timer(value.time + MINUTE)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        self.tiny_at.clear()


def event_time() -> WatermarkStrategy:
    """Payments are in order up to two seconds."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    return strategy.with_timestamp_assigner(PaymentTime())


def detect(env: StreamExecutionEnvironment, payments: DataStream) -> tuple[DataStream, DataStream]:
    """The alerts for a stream of payments, and the payments that came too late."""
    return judge(payments.assign_timestamps_and_watermarks(event_time()))


def judge(payments: DataStream) -> tuple[DataStream, DataStream]:
    """The same for payments that have their event time."""
    judged = (
        payments.key_by(lambda payment: payment.card)
        .process(FraudDetector())
        .name("detect fraud")
        .uid("detect-fraud")
    )
    return judged, judged.get_side_output(LATE)


def payments(env: StreamExecutionEnvironment, per_second: float, count: int | None) -> DataStream:
    """Generated payments, without end unless there is a count."""
    source = DataGeneratorSource(make_payment, count, per_second)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "payments")


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    alerts, late = detect(env, payments(env, 2000, 20_000))
    alerts.print("alert")
    late.print("late")
    env.execute("fraud detection")


if __name__ == "__main__":
    main()
