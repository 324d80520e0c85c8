"""KafkaSource: a split for each partition, offsets in the checkpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from headrace.connectors.argument_checks import require_instance
from headrace.connectors.kafka.client import property_text
from headrace.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from headrace.connectors.kafka.partitions import PartitionEnumerator, Subscription
from headrace.connectors.kafka.reader import Decode, DecodeRecords, DecodeValues, PartitionReader
from headrace.connectors.kafka.records import KafkaRecordDeserializationSchema
from headrace.core.serialization import DeserializationSchema
from headrace.core.source import Boundedness, Source, SplitEnumerator, SplitReader
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["KafkaSource", "KafkaSourceBuilder"]

_DISCOVERY = "partition.discovery.interval.ms"
_COMMITS = "commit.offsets.on.checkpoint"


class KafkaSource(Source[Any]):
    """Reads topics of Kafka; built with `KafkaSource.builder()`."""

    def __init__(
        self,
        subscription: Subscription,
        make_decoder: Callable[[], Decode],
        produced: TypeInformation | None,
    ):
        self.subscription = subscription
        self._make_decoder = make_decoder
        self._produced = produced

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        return KafkaSourceBuilder()

    def create_enumerator(self) -> SplitEnumerator:
        return PartitionEnumerator(self.subscription)

    def create_reader(self) -> SplitReader[Any]:
        return PartitionReader(self.subscription, self._make_decoder())

    def boundedness(self) -> Boundedness:
        bounded = self.subscription.bounded
        return Boundedness.BOUNDED if bounded else Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> TypeInformation | None:
        return self._produced


class KafkaSourceBuilder:
    """Settings of a KafkaSource."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._topics: tuple[str, ...] = ()
        self._pattern: str | None = None
        self._partitions: tuple[KafkaTopicPartition, ...] = ()
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._schema: DeserializationSchema | KafkaRecordDeserializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """The addresses of brokers, with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The group whose offsets show how far the job is; the checkpoint is what counts."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """All partitions of these topics."""
        self._choose_once()
        for topic in topics:
            require_instance(topic, str, "set_topics", hint="One argument for each topic.")
        if not topics:
            raise InvalidArgument("set_topics needs a topic", origin=calling_origin())
        self._topics = topics
        return self

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """All topics whose whole name matches a regular expression, also those to come."""
        self._choose_once()
        require_instance(topic_pattern, str, "set_topic_pattern")
        try:
            re.compile(topic_pattern)
        except re.error as error:
            raise InvalidArgument(
                f"{topic_pattern!r} is no regular expression: {error}", origin=calling_origin()
            ) from None
        self._pattern = topic_pattern
        return self

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """These partitions, and no others."""
        self._choose_once()
        for partition in partitions:
            require_instance(partition, KafkaTopicPartition, "set_partitions")
        if not partitions:
            raise InvalidArgument("set_partitions needs a partition", origin=calling_origin())
        self._partitions = tuple(sorted(partitions, key=lambda p: (p.topic, p.partition)))
        return self

    def _choose_once(self) -> None:
        if self._topics or self._pattern is not None or self._partitions:
            raise InvalidArgument(
                "what to read is said twice: set_topics, set_topic_pattern and set_partitions "
                "exclude one another",
                origin=calling_origin(),
            )

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Where a job begins that goes on from no checkpoint; unless told, at the earliest."""
        self._starting = require_instance(
            starting_offsets_initializer, KafkaOffsetsInitializer, "set_starting_offsets"
        )
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to there, and end: the stream is bounded."""
        self._bounded = True
        return self._stop_at(stopping_offsets_initializer, "set_bounded")

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Read up to there, but as a stream that might go on."""
        self._bounded = False
        return self._stop_at(stopping_offsets_initializer, "set_unbounded")

    def _stop_at(self, stopping: object, call: str) -> KafkaSourceBuilder:
        self._stopping = require_instance(stopping, KafkaOffsetsInitializer, call)
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """How the bytes of a record's value become a value of the stream."""
        self._schema = require_instance(
            deserialization_schema,
            DeserializationSchema,  # type: ignore[type-abstract]
            "set_value_only_deserializer",
            hint="SimpleStringSchema(), for example.",
        )
        return self

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """How a whole record, with its key, headers and place, becomes values of the stream."""
        self._schema = require_instance(
            record_deserializer,
            KafkaRecordDeserializationSchema,  # type: ignore[type-abstract]
            "set_deserializer",
            hint="A schema for values alone goes to set_value_only_deserializer().",
        )
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """How the consumers of this source call themselves."""
        return self.set_property("client.id", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """A property of Kafka's consumer, by its Java name or librdkafka's."""
        self._properties.update(property_text(key, value))
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Several properties."""
        for key, value in dict(props).items():
            self.set_property(key, value)
        return self

    def build(self) -> KafkaSource:
        """The source; what is missing is said here."""
        if not self._properties.get("bootstrap.servers"):
            raise _missing("the address of a broker", 'set_bootstrap_servers("host:9092")')
        if not (self._topics or self._pattern is not None or self._partitions):
            raise _missing("what to read", 'set_topics("…")')
        if self._schema is None:
            raise _missing(
                "how to read values", "set_value_only_deserializer(SimpleStringSchema())"
            )
        if self._starting.kind == "committed" and "group.id" not in self._properties:
            raise _missing("the group whose committed offsets count", 'set_group_id("…")')
        subscription = Subscription(
            dict(self._properties),
            self._topics,
            self._pattern,
            self._partitions,
            self._starting,
            self._stopping,
            self._bounded,
        )
        if _DISCOVERY in self._properties:
            pause = int(self._properties[_DISCOVERY])
            subscription = replace(subscription, discovery_ms=pause)
        if self._properties.get(_COMMITS, "true").lower() == "false":
            subscription = replace(subscription, commits=False)
        return KafkaSource(
            subscription, _decoder_of(self._schema), self._schema.get_produced_type()
        )


def _decoder_of(
    schema: DeserializationSchema | KafkaRecordDeserializationSchema,
) -> Callable[[], Decode]:
    if isinstance(schema, KafkaRecordDeserializationSchema):
        return lambda: DecodeRecords(schema.deserialize)
    return lambda: DecodeValues(schema.deserialize)


def _missing(what: str, call: str) -> InvalidArgument:
    return InvalidArgument(
        f"a Kafka source needs {what}", origin=calling_origin(), hint=f"Call {call}."
    )
