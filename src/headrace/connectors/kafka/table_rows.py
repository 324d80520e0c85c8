"""Rows of a table from records of Kafka, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from operator import itemgetter
from typing import Any

from headrace.connectors.kafka.reader import undecodable
from headrace.connectors.kafka.records import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    plain_record,
)
from headrace.core.logical_types import (
    BigIntType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    RowType,
    VarBinaryType,
    VarCharType,
)
from headrace.core.operator import Batch
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.core.user_code import apply_all
from headrace.formats.messages.message_format import BadMessage, MessageFormat, shown_message

__all__ = ["PARTITIONERS", "READABLE", "WRITABLE", "RowDecoder", "RowLayout", "RowRecords"]

_STRING = VarCharType(nullable=False)
_HEADERS = MapType(_STRING, VarBinaryType())
READABLE: Mapping[str, LogicalType] = {
    "topic": VarCharType(nullable=False),
    "partition": IntType(nullable=False),
    "headers": _HEADERS,
    "leader-epoch": IntType(),
    "offset": BigIntType(nullable=False),
    "timestamp": LocalZonedTimestampType(precision=3, nullable=False),
    "timestamp-type": VarCharType(nullable=False),
}
WRITABLE = ("headers", "timestamp")
PARTITIONERS = ("default", "fixed", "round-robin")
_MS = 1_000_000
_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")


def _read_headers(message: Any) -> dict[str, bytes]:
    return dict(message.headers() or ())


def _read_metadata() -> dict[str, Callable[[Any], Any]]:
    return {
        "topic": lambda message: message.topic(),
        "partition": lambda message: message.partition(),
        "headers": _read_headers,
        "leader-epoch": lambda message: message.leader_epoch(),
        "offset": lambda message: message.offset(),
        "timestamp": lambda message: message.timestamp()[1] * _MS,
        "timestamp-type": lambda message: _TIMESTAMP_TYPES[message.timestamp()[0]],
    }


@dataclass(frozen=True)
class RowLayout:
    """Which columns of a row are in a record's key and in its value."""

    row: RowType
    key_columns: tuple[int, ...]
    value_columns: tuple[int, ...]
    key_format: MessageFormat | None
    value_format: MessageFormat
    prefix: str = ""
    """What key columns are called in the table before their names in the key."""
    by_key: bool = False
    """Whether a record replaces the one before with its key, and one without value deletes it."""

    @property
    def key_row(self) -> RowType:
        fields = [self.row.fields[at] for at in self.key_columns]
        cut = len(self.prefix)
        return RowType(tuple(type(each)(each.name[cut:], each.type) for each in fields))

    @property
    def value_row(self) -> RowType:
        return RowType(tuple(self.row.fields[at] for at in self.value_columns))


@dataclass(frozen=True)
class RowDecoder:
    """Makes changes of messages; made anew in each worker."""

    layout: RowLayout
    metadata: tuple[str, ...] = ()
    """Of Kafka, and with `value.` before their names those of the value's format."""
    keeps_bad: bool = False
    """Whether what cannot be read becomes a row with a reason, a line and a place at its end."""

    def __call__(self) -> Callable[[list[Any]], Batch]:
        decode = self._one()
        keeps_bad, width = self.keeps_bad, len(self.layout.row.fields) + len(self.metadata)

        def decode_all(messages: list[Any]) -> Batch:
            try:
                changes = [change for message in messages for change in decode(message)]
            except BadMessage:
                return one_by_one(messages)
            if keeps_bad:
                changes = [(*each, None, None, None) for each in changes]
            return Batch(changes)

        def one_by_one(messages: list[Any]) -> Batch:
            changes: list[Any] = []
            for message in messages:
                try:
                    found = decode(message)
                except BadMessage as error:
                    if not keeps_bad:
                        raise undecodable(error, message) from error
                    place = f"{message.topic()}-{message.partition()} at {message.offset()}"
                    line = shown_message(message.value() or b"")
                    changes.append((INSERT, *(None,) * width, str(error), line, place))
                    continue
                changes += [(*each, None, None, None) for each in found] if keeps_bad else found
            return Batch(changes)

        return decode_all

    def _one(self) -> Callable[[Any], list[tuple[Any, ...]]]:
        layout = self.layout
        own = tuple(key for key in self.metadata if key.startswith("value."))
        value = layout.value_format.decoder(
            layout.value_row, tuple(key.removeprefix("value.") for key in own)
        )
        whole = tuple(range(len(layout.row.fields)))
        if not self.metadata and layout.key_format is None and layout.value_columns == whole:
            return lambda message: [] if (raw := message.value()) is None else value(raw)
        return self._with_key(value, own)

    def _with_key(
        self, value: Callable[[bytes], list[tuple[Any, ...]]], own: tuple[str, ...]
    ) -> Callable[[Any], list[tuple[Any, ...]]]:
        layout, width = self.layout, len(self.layout.row.fields)
        key = None if layout.key_format is None else layout.key_format.decoder(layout.key_row)
        readers = _read_metadata()
        extra = [
            (None, 1 + len(layout.value_columns) + own.index(name))
            if name in own
            else (readers[name], 0)
            for name in self.metadata
        ]

        def decode(message: Any) -> list[tuple[Any, ...]]:
            raw, raw_key = message.value(), message.key()
            if raw is None and not layout.by_key:
                return []
            # A format that ignores what it cannot read makes no row of such a key.
            keys = [()] if key is None or raw_key is None else [each[1:] for each in key(raw_key)]
            changes = [(DELETE,)] if raw is None else value(raw)
            rows = []
            for of_key, change in product(keys, changes):
                columns: list[Any] = [None] * width
                for at, found in zip(layout.key_columns, of_key, strict=False):
                    columns[at] = found
                for at, found in zip(layout.value_columns, change[1:], strict=False):
                    columns[at] = found
                beside = [
                    read(message) if read is not None else None if raw is None else change[at]
                    for read, at in extra
                ]
                kind = UPDATE_AFTER if layout.by_key and raw is not None else change[0]
                rows.append((kind, *columns, *beside))
            return rows

        return decode


class RowRecords(KafkaRecordSerializationSchema):
    """Makes records of changes. `places`: where the layout's columns stand in a change's row;
    `written`: where those of metadata do, by name."""

    def __init__(
        self,
        topic: str,
        layout: RowLayout,
        places: Sequence[int],
        written: Mapping[str, int],
        partitioner: str,
    ):
        self.topic = topic
        self._of = layout, tuple(places), dict(written), partitioner
        self._made: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RowRecords, (self.topic, *self._of)

    def open(self, subtask: int, count_partitions: Callable[[str], int]) -> None:
        assert self.topic is not None
        self._made = self._make(self.topic, subtask, count_partitions)

    def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        record: KafkaProducerRecord | None = self._made(value)
        return record

    def to_records(
        self, values: Sequence[Any], timestamps: Sequence[int | None]
    ) -> list[KafkaProducerRecord]:
        made = apply_all(self._made, values, "write")
        return [record for record in made if record is not None]

    def _make(
        self, topic: str, subtask: int, count_partitions: Callable[[str], int]
    ) -> Callable[[Any], KafkaProducerRecord | None]:
        layout, places, written, partitioner = self._of
        encode = layout.value_format.encoder(layout.value_row)
        keys = None if layout.key_format is None else layout.key_format.encoder(layout.key_row)
        choose = _partition_choice(partitioner, subtask, lambda: count_partitions(topic))
        headers, moment = written.get("headers"), written.get("timestamp")
        of_key = _columns(places[at] + 1 for at in layout.key_columns)
        of_value = _columns(places[at] + 1 for at in layout.value_columns)
        if partitioner == "default" and not (layout.by_key or keys or written):
            return lambda change: plain_record(topic, encode((change[0], *of_value(change))))

        def make(change: Sequence[Any]) -> KafkaProducerRecord | None:
            kind = change[0]
            raw_key = None if keys is None else keys((INSERT, *of_key(change)))
            value: bytes | None = None
            if not layout.by_key:
                value = encode((kind, *of_value(change)))
            elif kind == UPDATE_BEFORE:
                return None
            elif kind != DELETE:
                value = encode((INSERT, *of_value(change)))
            pairs = None if headers is None else list((change[headers + 1] or {}).items())
            stamp = None if moment is None else change[moment + 1]
            return KafkaProducerRecord(
                topic, value, raw_key, choose(), pairs, None if stamp is None else stamp // _MS
            )

        return make


def _columns(places: Iterable[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Takes what stands at these places of a change."""
    found = tuple(places)
    if found and found == tuple(range(found[0], found[0] + len(found))):
        return itemgetter(slice(found[0], found[0] + len(found)))
    return itemgetter(*found) if len(found) > 1 else lambda change: ()


def _partition_choice(
    name: str, subtask: int, total: Callable[[], int]
) -> Callable[[], int | None]:
    if name == "default":
        return lambda: None
    if name == "fixed":
        place = subtask % total()
        return lambda: place
    size, turns = total(), count(subtask)
    return lambda: next(turns) % size
