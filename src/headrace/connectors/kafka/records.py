"""From values of a stream to records of Kafka, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from headrace.connectors.argument_checks import require_instance
from headrace.core.serialization import SerializationSchema
from headrace.core.types import TypeInformation
from headrace.core.user_code import apply_all
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = [
    "KafkaConsumerRecord",
    "KafkaProducerRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
    "plain_record",
]


class KafkaProducerRecord(NamedTuple):
    """A record as it goes to Kafka; without a partition, Kafka's own rule finds one by the key."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    headers: Any = None
    """Pairs of a name and bytes, or nothing."""
    timestamp: int | None = None


def plain_record(
    topic: str, value: bytes | None, key: bytes | None = None, timestamp: int | None = None
) -> KafkaProducerRecord:
    """A record without headers and a partition of its own, made the quickest way."""
    return _new_record(KafkaProducerRecord, (topic, value, key, None, None, timestamp))


_new_record: Callable[[type[KafkaProducerRecord], tuple[Any, ...]], KafkaProducerRecord]
_new_record = tuple.__new__  # a third of what the class takes when it is called


class KafkaConsumerRecord(NamedTuple):
    """A record as it is in Kafka."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    """In milliseconds, if Kafka knows it."""
    key: bytes | None
    value: bytes | None
    """None: the record deletes what was there for its key."""
    headers: list[tuple[str, bytes | None]]


class KafkaRecordDeserializationSchema(ABC):
    """How values of a stream are made of whole records: of their keys, headers, places, and also
    of records without a value."""

    @abstractmethod
    def deserialize(self, record: KafkaConsumerRecord) -> Iterable[Any] | None:
        """The values of a record: any number of them, or none."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the values."""


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The name of the topic that a record goes to."""


class KafkaRecordSerializationSchema(ABC):
    """How records are made of values; `builder()` makes one of schemas for key and value.

    For headers, partitions or timestamps of your own subclass it and override `to_record`.
    """

    topic: str | None = None
    """The only topic that records go to, if there is one."""

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        return KafkaRecordSerializationSchemaBuilder()

    def open(self, subtask: int, count_partitions: Callable[[str], int]) -> None:
        """Called in the worker first; `count_partitions` of a topic asks Kafka."""

    @abstractmethod
    def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        """The record of a value and its event time in milliseconds; None: there is none."""

    def to_records(
        self, values: Sequence[Any], timestamps: Sequence[int | None]
    ) -> list[KafkaProducerRecord]:
        """The records of many values."""
        made = apply_all(self.to_record, values, "write", timestamps)
        return [record for record in made if record is not None]


class _BySchemas(KafkaRecordSerializationSchema):
    def __init__(
        self,
        topic: str | KafkaTopicSelector | Callable[[Any], str],
        key: SerializationSchema | None,
        value: SerializationSchema,
    ):
        self._select: Callable[[Any], str] | None
        if isinstance(topic, str):
            self.topic, self._select = topic, None
        else:
            self._select = topic.apply if isinstance(topic, KafkaTopicSelector) else topic
        self._key = None if key is None else key.serialize
        self._value = value.serialize

    def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord:
        topic = self.topic
        if self._select is not None:
            topic = self._select(value)
            if not isinstance(topic, str) or not topic:
                raise TypeMismatch(f"the topic selector gave {topic!r}, which is no topic's name")
        assert topic is not None
        key = None if self._key is None else self._key(value)
        if timestamp is not None and timestamp < 0:
            timestamp = None
        return plain_record(topic, self._value(value), key, timestamp)


class KafkaRecordSerializationSchemaBuilder:
    """Settings of a KafkaRecordSerializationSchema."""

    def __init__(self) -> None:
        self._topic: Any = None
        self._key: SerializationSchema | None = None
        self._value: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """The topic of all records."""
        self._topic = require_instance(topic, str, "set_topic")
        return self

    def set_topic_selector(
        self, topic_selector: KafkaTopicSelector | Callable[[Any], str]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Chooses the topic of each record: a KafkaTopicSelector, or a function of the value."""
        if not isinstance(topic_selector, KafkaTopicSelector) and not callable(topic_selector):
            raise TypeMismatch(
                f"set_topic_selector takes a KafkaTopicSelector or a function, not "
                f"{topic_selector!r}",
                origin=calling_origin(),
            )
        self._topic = topic_selector
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """How the key is made of a value; without it records have none."""
        self._key = _schema(key_serialization_schema, "set_key_serialization_schema")
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """How the value is made."""
        self._value = _schema(value_serialization_schema, "set_value_serialization_schema")
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        if self._topic is None:
            raise _missing("a topic", 'set_topic("…") or set_topic_selector(…)')
        if self._value is None:
            raise _missing(
                "a schema for values", "set_value_serialization_schema(SimpleStringSchema())"
            )
        return _BySchemas(self._topic, self._key, self._value)


def _schema(given: object, call: str) -> SerializationSchema:
    return require_instance(
        given,
        SerializationSchema,  # type: ignore[type-abstract]
        call,
        hint="SimpleStringSchema(), for example.",
    )


def _missing(what: str, call: str) -> InvalidArgument:
    return InvalidArgument(
        f"a Kafka record needs {what}", origin=calling_origin(), hint=f"Call {call}."
    )
