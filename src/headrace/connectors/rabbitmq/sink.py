"""RMQSink: records become messages of a queue, which the server has before a checkpoint is done."""

from __future__ import annotations

import time
from typing import Any

from headrace.connectors.argument_checks import require_instance
from headrace.connectors.pauses import pauses_for
from headrace.connectors.rabbitmq.config import RMQConnectionConfig
from headrace.connectors.rabbitmq.links import Away, Link, pika
from headrace.connectors.waiting_records import WaitingRecords
from headrace.core.functions import RuntimeContext
from headrace.core.operator import TaskInfo
from headrace.core.serialization import SerializationSchema
from headrace.core.sink import Sink, SinkWriter
from headrace.errors import SourceUnavailable, TypeMismatch

__all__ = ["RMQSink"]

_AT_ONCE, _BYTES_AT_ONCE, _WAIT_MS = 1000, 1 << 20, 20
_PERSISTENT = 2
_PATIENCE_S = 60.0


class RMQSink(Sink[Any]):
    """Writes each record to a queue; after a failure some are there again."""

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema,
    ):
        what = "RMQSink"
        self._config = require_instance(connection_config, RMQConnectionConfig, what)
        self._queue = require_instance(queue_name, str, what)
        self._schema = require_instance(
            serialization_schema,
            SerializationSchema,  # type: ignore[type-abstract]
            what,
        )

    def open(self, runtime_context: RuntimeContext) -> None:
        self._publisher = Publisher(Link(self._config, self._queue))
        self._publisher.open()
        self._waiting = WaitingRecords(
            self._publisher.publish,
            most=_AT_ONCE,
            interval_ms=_WAIT_MS,
            weigh=len,
            heaviest=_BYTES_AT_ONCE,
        )

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        return _Writer(self._waiting, self._schema)

    def close(self) -> None:
        if hasattr(self, "_waiting"):
            self._waiting.close()
            self._publisher.close()


class _Writer(SinkWriter[Any]):
    def __init__(self, waiting: WaitingRecords, schema: SerializationSchema):
        self._waiting = waiting
        self._schema = schema

    def write(self, value: Any, timestamp: int | None) -> None:
        body = self._schema.serialize(value)
        if not isinstance(body, bytes | bytearray | memoryview):
            raise TypeMismatch(
                f"{type(self._schema).__name__} of an RMQSink makes bytes, not {body!r}"
            )
        self._waiting.add(bytes(body))

    def prepare_commit(self) -> list[Any]:
        self._waiting.flush()
        return []

    def close(self) -> None:
        self._waiting.forget()  # of a checkpoint that failed: they come again


class Publisher:
    """Sends messages many at a time. A commit is answered when the server has them all on disk."""

    def __init__(self, link: Link):
        self._link = link
        self._returned: str | None = None
        self._properties = pika().BasicProperties(delivery_mode=_PERSISTENT)

    def open(self) -> None:
        self._link.open_patiently()
        self._watch_returns(self._link.channel)

    def publish(self, bodies: list[bytes]) -> None:
        """Send them; while the server is away, once more and once more, for a minute."""
        pauses = iter((0.0, *pauses_for(_PATIENCE_S)))  # idle connections may be closed
        while True:
            try:
                self._attempt(bodies)
                return
            except Away as away:
                pause = next(pauses, None)
                if pause is None or not self._link.recovers:
                    raise self._link.unavailable(away) from None
                if pause:
                    self._link.say_away(away)
                time.sleep(pause)

    def _attempt(self, bodies: list[bytes]) -> None:
        try:
            if self._link.channel is None:
                self._link.open()
                self._watch_returns(self._link.channel)
            channel = self._link.channel
            for body in bodies:
                channel.basic_publish("", self._link.queue, body, self._properties, mandatory=True)
            channel.tx_commit()
            self._link.connection.process_data_events(time_limit=0)
        except Exception as error:
            self._link.close()
            raise self._link.judge(error) from None
        if self._returned is not None:
            raise SourceUnavailable(
                f"queue {self._link.queue!r} of {self._link.address} takes no messages: "
                f"{self._returned}",
                hint="Was it deleted? When the job starts again, it declares the queue anew.",
            )

    def _watch_returns(self, channel: Any) -> None:
        channel.add_on_return_callback(self._note_returned)

    def _note_returned(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._returned = method.reply_text

    def close(self) -> None:
        self._link.close()
