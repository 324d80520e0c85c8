"""In the workers: one consumer for all partitions that a task reads."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from headrace.connectors.kafka.client import LastError, connected_to, kafka
from headrace.connectors.kafka.partitions import Subscription
from headrace.connectors.kafka.records import KafkaConsumerRecord
from headrace.core.operator import Batch
from headrace.core.source import Split, SplitReader
from headrace.core.user_code import RecordFailure, stopped_early
from headrace.errors import HeadraceError, SourceUnavailable, TypeMismatch, UnfitValue

__all__ = ["Decode", "PartitionReader"]

_LOG = logging.getLogger("headrace")
_AT_ONCE = 8192
_HELD_AT_MOST = 32_768
"""Records of a partition that nobody asks for, beyond which no more of it are fetched."""
_SAY_AFTER_S = 10.0
Message = Any
Decode = Callable[[list[Message]], Batch]


class _Fetched:
    """What was fetched of a partition and not handed over."""

    def __init__(self, place: Any, at: int):
        self.place = place
        self.next = at
        """The offset after what was handed over."""
        self.messages: list[Message] = []
        self.seen_upto = at
        """Up to where there is nothing but what was fetched."""
        self.paused = False
        self.error: Any = None


class PartitionReader(SplitReader[Any]):
    """Reads what is there by now, or ranges of offsets; what was fetched too early waits here."""

    follows = True

    def __init__(self, subscription: Subscription, decode: Decode):
        self._of = subscription
        self._decode = decode
        self._at_once = int(subscription.properties.get("max.poll.records", _AT_ONCE))
        self._client: Any = None
        self._heard = LastError()
        self._fetched: dict[tuple[str, int], _Fetched] = {}

    def read(self, split: Split, start: int, end: int) -> Iterable[Any]:
        return (value for batch in self.read_batches(split, start, end) for value in batch.values)

    def read_batches(self, split: Split, start: int, end: int) -> Iterator[Batch]:
        fetched = self._at(split, start)
        waits_since = time.monotonic()
        while fetched.next < end:
            messages = self._take(fetched, end)
            if messages:
                waits_since = time.monotonic()
                yield self._decoded(messages)
            elif fetched.seen_upto >= end:
                fetched.next = end  # what is left are no records: marks of transactions
            else:
                self._fetch(0.2)
                waits_since = self._say_if_long(split, waits_since)

    def follow(self, split: Split, position: int) -> tuple[Batch, int] | None:
        stop = split.info["stop"]
        if stop is not None and position >= stop:
            self._leave(split)
            return None
        fetched = self._at(split, position)
        if not fetched.messages:
            self._fetch(0)
        messages = self._take(fetched, stop)
        if not messages:
            if not fetched.messages:
                fetched.next = max(fetched.next, fetched.seen_upto)
            elif stop is not None:
                fetched.next = stop
            return Batch([]), fetched.next
        return self._decoded(messages), fetched.next

    def known_end(self, split: Split) -> int | None:
        fetched = self._fetched.get(_place(split))
        if fetched is None:
            return None
        _, end = self._consumer().get_watermark_offsets(fetched.place, cached=True)
        return None if end < 0 else int(end)

    # What was fetched.

    def _at(self, split: Split, position: int) -> _Fetched:
        """What there is of a partition from a position on, and more to come."""
        place = _place(split)
        fetched = self._fetched.get(place)
        if fetched is not None and fetched.next == position:
            return fetched
        topic_partition = kafka().TopicPartition(*place, position)
        with connected_to(self._of.servers, self._heard):
            if fetched is not None:
                self._consumer().incremental_unassign([fetched.place])
            self._consumer().incremental_assign([topic_partition])
        self._fetched[place] = _Fetched(topic_partition, position)
        return self._fetched[place]

    def _leave(self, split: Split) -> None:
        fetched = self._fetched.pop(_place(split), None)
        if fetched is not None:
            with suppress(Exception):
                self._consumer().incremental_unassign([fetched.place])

    def _take(self, fetched: _Fetched, end: int | None) -> list[Message]:
        """Some messages, and none from `end` on."""
        if fetched.error is not None and not fetched.messages:
            raise fetched.error
        messages = fetched.messages[: self._at_once]
        if end is not None and messages and messages[-1].offset() >= end:
            messages = [message for message in messages if message.offset() < end]
            if not messages:
                fetched.seen_upto = max(fetched.seen_upto, end)
        if messages:
            del fetched.messages[: len(messages)]
            fetched.next = messages[-1].offset() + 1
        return messages

    def _fetch(self, patience: float) -> None:
        """Take in what has come for any partition; waits for the first only so long."""
        client = self._consumer()
        for fetched in self._fetched.values():
            if fetched.paused and len(fetched.messages) < _HELD_AT_MOST // 2:
                client.resume([fetched.place])
                fetched.paused = False
        if patience:
            first = client.poll(patience)
            messages = [] if first is None else [first, *client.consume(_AT_ONCE, 0)]
        else:
            messages = client.consume(_AT_ONCE, 0)
        for message in messages:
            found = self._fetched.get((message.topic(), message.partition()))
            if found is None:
                continue
            if message.error() is None:
                found.messages.append(message)
            else:
                self._note(found, message)
        for fetched in self._fetched.values() if messages else ():
            if fetched.messages:
                fetched.seen_upto = max(fetched.seen_upto, fetched.messages[-1].offset() + 1)
            if len(fetched.messages) > _HELD_AT_MOST and not fetched.paused:
                client.pause([fetched.place])
                fetched.paused = True

    def _note(self, fetched: _Fetched, message: Message) -> None:
        error, codes = message.error(), kafka().KafkaError
        where = f"partition {fetched.place.partition} of topic {fetched.place.topic!r}"
        if error.code() == codes._PARTITION_EOF:
            fetched.seen_upto = max(fetched.seen_upto, message.offset())
        elif error.code() == codes._AUTO_OFFSET_RESET:
            fetched.error = SourceUnavailable(
                f"{where} has no records any more at offset {fetched.next}: {error.str()}",
                hint="They were deleted before they were read. Begin with an "
                "offset_reset_strategy to go on with what is left.",
            )
        elif error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_PARTITION):
            fetched.error = SourceUnavailable(f"{where} is gone: {error.str()}")
        elif not error.retriable():
            fetched.error = SourceUnavailable(f"{where} cannot be read: {error.str()}")

    def _say_if_long(self, split: Split, since: float) -> float:
        if time.monotonic() - since < _SAY_AFTER_S:
            return since
        said = f": {self._heard.texts[-1]}" if self._heard.texts else ""
        _LOG.warning("waiting for records of %s at %s%s", split.id, self._of.servers, said)
        return time.monotonic()

    def _decoded(self, messages: list[Message]) -> Batch:
        return self._decode(messages)

    def _consumer(self) -> Any:
        if self._client is None:
            settings = {**self._of.consumer_settings(), "error_cb": self._heard}
            with connected_to(self._of.servers):
                self._client = kafka().Consumer(settings)
        return self._client

    def close(self) -> None:
        client, self._client = self._client, None
        self._fetched.clear()
        if client is not None:
            with suppress(Exception):
                client.close()


def _place(split: Split) -> tuple[str, int]:
    return split.info["topic"], split.info["partition"]


def message_times(messages: list[Message]) -> list[int | None]:
    """What Kafka knows of the records' time."""
    none = kafka().TIMESTAMP_NOT_AVAILABLE
    return [
        None if stamp[0] == none else stamp[1]
        for stamp in [message.timestamp() for message in messages]
    ]


class DecodeValues:
    """Makes a record of each message's value; what has none, or becomes None, is left out."""

    def __init__(self, deserialize: Callable[[bytes], Any]):
        self._deserialize = deserialize

    def __call__(self, messages: list[Message]) -> Batch:
        values = [message.value() for message in messages]
        if None in values:
            messages = [each for each in messages if each.value() is not None]
            values = [message.value() for message in messages]
        records = self._deserialize_all(values, messages)
        times = message_times(messages)
        if None in records:
            kept = [place for place, record in enumerate(records) if record is not None]
            records, times = [records[at] for at in kept], [times[at] for at in kept]
        return Batch(records, times)

    def _deserialize_all(self, values: list[bytes], messages: list[Message]) -> list[Any]:
        done: list[Any] = []
        try:
            done.extend(map(self._deserialize, values))
        except Exception as error:
            raise undecodable(error, messages[len(done)]) from error
        if len(done) < len(values):
            raise undecodable(stopped_early(), messages[len(done)])
        return done


class DecodeRecords:
    """Makes any number of records of each message as a whole."""

    def __init__(self, deserialize: Callable[[KafkaConsumerRecord], Iterable[Any] | None]):
        self._deserialize = deserialize

    def __call__(self, messages: list[Message]) -> Batch:
        records: list[Any] = []
        times: list[int | None] = []
        for message, stamp in zip(messages, message_times(messages), strict=True):
            try:
                found = self._values(message, stamp)
            except Exception as error:
                raise undecodable(error, message) from error
            records += found
            times += [stamp] * len(found)
        return Batch(records, times)

    def _values(self, message: Message, stamp: int | None) -> list[Any]:
        record = KafkaConsumerRecord(
            message.topic(), message.partition(), message.offset(), stamp,
            message.key(), message.value(), list(message.headers() or ()),
        )  # fmt: skip
        found = self._deserialize(record)
        if isinstance(found, str | bytes) or not isinstance(found, Iterable | None):
            raise TypeMismatch(
                f"deserialize() gave {found!r}, which is no iterable of values",
                hint="Write `yield value`, or return a list.",
            )
        return list(found or ())


def undecodable(error: Exception, message: Message) -> RecordFailure:
    """Says which record could not be read."""
    said = error.message if isinstance(error, HeadraceError) else f"{type(error).__name__}: {error}"
    what = UnfitValue(
        f"the record at offset {message.offset()} of partition {message.partition()} of topic "
        f"{message.topic()!r} cannot be decoded: {said}",
        origin=getattr(error, "origin", None),
        hint=getattr(error, "hint", None)
        or "Let the schema return None for what is to be left out.",
    )
    return RecordFailure(what, "deserialize", message.value())
