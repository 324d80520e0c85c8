"""Puts payments into a topic, as many per second as is wanted."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from typing import Any

from headrace.cli.demo.kafka_job import PARALLELISM, PAYMENTS
from headrace.connectors.kafka.client import kafka
from headrace.errors import JobFailed
from headrace.examples.fraud_detection import (
    MILLISECONDS_APART,
    MINUTE,
    START,
    Payment,
    make_payment,
)

__all__ = ["Feed"]

_DAY_MS = 24 * 60 * MINUTE
_FEW = 100.0
_PAUSE_S = 0.01
_PATIENCE_S = 60.0


class Feed:
    """A thread that makes payments and sends them, until it is stopped.

    All payments of a card go to one partition, so they are in order. Until `open` there are few,
    and none from a terminal that was offline: a payment is only late for certain if the job knows
    what time it is.
    """

    def __init__(self, servers: str, rate: float):
        self._wanted_rate, self._rate = rate, min(rate, _FEW)
        self._began = time.monotonic()
        self._first = 0
        """The number of the payment that was made when it began, or began to make more."""
        self._opens = self._is_open = self._ends = False
        self._failed: Any = None
        self.sent = 0
        self._producer = kafka().Producer(
            {
                "bootstrap.servers": servers,
                "linger.ms": 5,
                "enable.idempotence": True,
                "on_delivery": self._note,
                "delivery.report.only.error": True,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run, name="payments", daemon=True)

    def start(self) -> None:
        self._began = time.monotonic()
        self._thread.start()

    def open(self) -> None:
        """From now on send as many as are wanted."""
        self._opens = True

    def age_of(self, event_time: int) -> float:
        """How many seconds ago the payment of an event time was made."""
        number = (event_time - START) / MILLISECONDS_APART
        return time.monotonic() - self._began - (number - self._first) / self._rate

    def stop(self) -> None:
        """Returns when all payments have arrived."""
        self._ends = True
        if self._thread.is_alive():
            self._thread.join()
        if self._producer.flush(_PATIENCE_S) or self._failed is not None:
            raise JobFailed(f"the payments did not reach Kafka: {self._failed or 'no answer'}")

    def _run(self) -> None:
        number = 0
        while not self._ends:
            if self._opens and not self._is_open:
                self._began, self._first = time.monotonic(), number
                self._rate, self._is_open = self._wanted_rate, True
            due = self._first + int((time.monotonic() - self._began) * self._rate)
            while number < due:
                self._send(make_payment(number), number)
                number += 1
            self._producer.poll(0)
            time.sleep(_PAUSE_S)

    def _send(self, payment: Payment, number: int) -> None:
        is_late = payment.time != START + number * MILLISECONDS_APART
        if is_late and not self._is_open:
            return
        if is_late:  # by so much that it stays late however long a killed worker is missed
            payment = replace(payment, time=payment.time - _DAY_MS)
        text = json.dumps(vars(payment)).encode()
        while not self._ends:
            try:
                self._producer.produce(PAYMENTS, text, partition=payment.card % PARALLELISM)
                self.sent += 1
                return
            except BufferError:
                self._producer.poll(_PAUSE_S)

    def _note(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed = error.str()
