"""RMQSource: a queue whose messages are acknowledged when a checkpoint has them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from headrace.connectors.argument_checks import require_instance
from headrace.connectors.rabbitmq.config import RMQConnectionConfig
from headrace.connectors.rabbitmq.known_ids import KnownIds
from headrace.connectors.rabbitmq.links import Away, Link
from headrace.core.crash_points import reach
from headrace.core.serialization import DeserializationSchema
from headrace.core.source import LiveReader, Source, Split, SplitEnumerator
from headrace.core.types import TypeInformation
from headrace.errors import HeadraceError, SourceUnavailable, UnfitValue

__all__ = ["RMQSource"]

_AT_ONCE = 1000


class RMQSource(Source[Any]):
    """Reads a queue: exactly once by correlation ids, else at least once. One task reads, whatever
    the parallelism."""

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema,
    ):
        what = "RMQSource"
        self._config = require_instance(connection_config, RMQConnectionConfig, what)
        self._queue = require_instance(queue_name, str, what)
        self._by_id = require_instance(use_correlation_id, bool, what)
        self._schema = require_instance(
            deserialization_schema,
            DeserializationSchema,  # type: ignore[type-abstract]
            what,
        )

    def create_enumerator(self) -> SplitEnumerator:
        return _OneQueue(Link(self._config, self._queue))

    def create_reader(self) -> LiveReader[Any]:
        link = Link(self._config, self._queue)
        return QueueReader(link, self._schema.deserialize, by_id=self._by_id)

    def produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()


class _OneQueue(SplitEnumerator):
    """Looks once whether the queue can be used, before a job reads it."""

    def __init__(self, link: Link):
        self._link = link
        self._checked = False

    def splits(self) -> list[Split]:
        if not self._checked:
            self._link.open_patiently()
            self._link.close()
            self._checked = True
        return [Split(self._link.queue)]

    def initial_position(self, split: Split) -> Any:
        return {}

    def latest_position(self, split: Split, start: Any) -> Any:
        return start


class _Message(NamedTuple):
    tag: int
    id: str | None
    body: bytes


class QueueReader(LiveReader[Any]):
    """A position says how far the channel was read, and which messages the job has had.

    What it gives is acknowledged over the same channel when a checkpoint has it. While the server
    is away it waits; over another channel the rest comes again.
    """

    acknowledges = True

    def __init__(self, link: Link, deserialize: Callable[[bytes], Any], *, by_id: bool):
        self._link = link
        self._deserialize = deserialize
        self._by_id = by_id
        self._known: KnownIds | None = None
        self._channel = ""
        """The name of the open channel; none is used twice."""
        self._came: list[_Message] = []
        self._tag = 0
        """Of the last message that was given to the job over this channel."""
        self._acknowledged = self._acknowledgements = 0
        self._cancelled = False
        self._pauses: Iterator[float] = link.pauses()
        self._try_at = 0.0

    def poll(self, split: Split, position: Any) -> tuple[list[Any], Any]:
        if self._by_id and self._known is None:
            self._known = KnownIds(position.get("known"))
        if time.monotonic() < self._try_at:
            return [], position
        try:
            messages = self._fetch()
        except Exception as error:
            self._wait_or_raise(error)
            return [], position
        if not messages:
            return [], position
        records = self._decode_new(messages)
        self._tag = messages[-1].tag
        return records, self._position()

    def _position(self) -> dict[str, Any]:
        position: dict[str, Any] = {"channel": self._channel, "tag": self._tag}
        if self._known is not None:
            position |= {"count": self._known.count, "known": self._known.saved()}
        return position

    # The channel.

    def _fetch(self) -> list[_Message]:
        if self._link.channel is None:
            self._open()
        while len(self._came) < _AT_ONCE:
            before = len(self._came)
            self._link.connection.process_data_events(time_limit=0)
            if len(self._came) == before:
                break
        if self._cancelled and not self._came:
            raise SourceUnavailable(
                f"queue {self._link.queue!r} of {self._link.address} was deleted",
                hint="When the job starts again, it declares the queue anew.",
            )
        came, self._came = self._came, []
        return came

    def _open(self) -> None:
        self._link.open()
        channel, prefetch = self._link.channel, self._link.config.prefetch_count
        self._channel, self._came = uuid.uuid4().hex, []
        self._tag = self._acknowledged = 0
        self._cancelled = False
        if self._known is not None:
            self._known.lose_channel()
        if prefetch:
            channel.basic_qos(prefetch_count=prefetch)
        channel.add_on_cancel_callback(self._note_cancelled)
        channel.basic_consume(self._link.queue, self._take)
        self._pauses = self._link.pauses()

    def _take(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._came.append(_Message(method.delivery_tag, properties.correlation_id, body))

    def _note_cancelled(self, frame: Any) -> None:
        self._cancelled = True

    def _wait_or_raise(self, error: Exception) -> None:
        """Of a connection that is lost, or cannot be made: when to try again."""
        found = self._link.judge(error)
        self.close()
        if not isinstance(found, Away):
            raise found from None
        if not self._link.recovers:
            raise self._link.unavailable(found) from None
        self._link.say_away(found)
        self._try_at = time.monotonic() + next(self._pauses)

    def acknowledge(self, split: Split, position: Any) -> None:
        tag = position.get("tag", 0)
        if position.get("channel") != self._channel or tag <= self._acknowledged:
            return
        if self._link.channel is None:
            return
        self._acknowledgements += 1
        reach("rabbitmq-ack.before", self._acknowledgements)
        try:
            # In a transaction, for there is no other answer to an acknowledgement.
            self._link.channel.basic_ack(tag, multiple=True)
            self._link.channel.tx_commit()
        except Exception as error:
            self._wait_or_raise(error)
            return
        self._acknowledged = tag
        if self._known is not None:
            self._known.acknowledge(position["count"])
        reach("rabbitmq-ack.after", self._acknowledgements)

    # The messages.

    def _decode_new(self, messages: list[_Message]) -> list[Any]:
        """The records of messages that the job has not had; None is left out."""
        records = []
        for message in messages:
            if self._is_new(message):
                record = self._decode(message)
                if record is not None:
                    records.append(record)
        return records

    def _is_new(self, message: _Message) -> bool:
        if self._known is None:
            return True
        if message.id is None:
            raise UnfitValue(
                f"a message of queue {self._link.queue!r} has no correlation id: "
                f"{_shown(message.body)}",
                hint="Let whoever sends it set a unique one, or give RMQSource "
                "use_correlation_id=False for at least once.",
            )
        return self._known.add(message.id)

    def _decode(self, message: _Message) -> Any:
        try:
            return self._deserialize(message.body)
        except Exception as error:
            text = str(error)
            said = error.message if isinstance(error, HeadraceError) else text
            raise UnfitValue(
                f"a message of queue {self._link.queue!r} cannot be decoded: "
                f"{type(error).__name__}: {said}: {_shown(message.body)}",
                origin=getattr(error, "origin", None),
                hint=getattr(error, "hint", None)
                or "Let the schema return None for what is to be left out.",
            ) from error

    def close(self) -> None:
        self._channel, self._came = "", []
        self._link.close()


def _shown(body: bytes) -> str:
    return f"{body[:100]!r}" + ("…" if len(body) > 100 else "")
