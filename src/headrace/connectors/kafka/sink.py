"""KafkaSink: at once, at least once or exactly once."""

from __future__ import annotations

from typing import Any

from headrace.connectors.argument_checks import require_instance
from headrace.connectors.delivery import DeliveryGuarantee
from headrace.connectors.kafka.client import property_text
from headrace.connectors.kafka.committer import TransactionCommitter
from headrace.connectors.kafka.producing import PlainWriter, RecordProducer
from headrace.connectors.kafka.records import KafkaRecordSerializationSchema
from headrace.connectors.kafka.transactions import Transactions, TransactionWriter
from headrace.core.checkpointed import CheckpointListener
from headrace.core.functions import RuntimeContext
from headrace.core.operator import TaskInfo
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["KafkaSink", "KafkaSinkBuilder"]


_LAST_WORDS_S = 10.0


class KafkaSink(Sink[Any], CheckpointListener):
    """Writes to topics of Kafka; built with `KafkaSink.builder()`."""

    def __init__(
        self,
        properties: dict[str, str],
        schema: KafkaRecordSerializationSchema,
        guarantee: DeliveryGuarantee,
        prefix: str | None,
    ):
        self._properties = properties
        self._schema = schema
        self._guarantee = guarantee
        self._prefix = prefix
        self._producers: dict[int, RecordProducer] = {}
        self._transactions: dict[int, Transactions] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Connections stay where they are.
        return KafkaSink, (self._properties, self._schema, self._guarantee, self._prefix)

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        return KafkaSinkBuilder()

    def open(self, runtime_context: RuntimeContext) -> None:
        subtask = runtime_context.get_index_of_this_subtask()
        self._schema.open(subtask, self._count_partitions)

    def _count_partitions(self, topic: str) -> int:
        return RecordProducer(self._properties).count_partitions(topic)

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            assert self._prefix is not None
            if task.partition not in self._transactions:
                made = Transactions(self._properties, self._prefix, task)
                self._transactions[task.partition] = made
            transactions = self._transactions[task.partition]
            return TransactionWriter(transactions, self._schema, task)
        if task.partition not in self._producers:
            self._producers[task.partition] = RecordProducer(self._properties)
        waits = self._guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        return PlainWriter(self._producers[task.partition], self._schema, waits=waits)

    def get_transformer(self) -> None:
        """Nothing is done to a stream before this sink."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        for transactions in self._transactions.values():
            transactions.note(checkpoint_id)

    @property
    def claims(self) -> tuple[str, ...]:
        if self._guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return ()
        servers = self._properties.get("bootstrap.servers", "")
        return (f"the transactional id prefix {self._prefix!r} of Kafka at {servers}",)

    def create_committer(self) -> Committer[Any] | None:
        if self._guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        assert self._prefix is not None
        return TransactionCommitter(self._properties, self._prefix)

    def close(self) -> None:
        producers, self._producers = self._producers, {}
        for producer in producers.values():
            producer.client.flush(_LAST_WORDS_S)  # at least once, all of it has arrived
        self._transactions = {}


class KafkaSinkBuilder:
    """Settings of a KafkaSink."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._schema: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """The addresses of brokers, with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """How records are made of values."""
        self._schema = require_instance(
            record_serializer,
            KafkaRecordSerializationSchema,  # type: ignore[type-abstract]
            "set_record_serializer",
            hint="KafkaRecordSerializationSchema.builder()….build()",
        )
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """What is promised after a failure; unless told, nothing."""
        self._guarantee = require_instance(
            delivery_guarantee, DeliveryGuarantee, "set_delivery_guarantee"
        )
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """What transactional ids begin with: one of its own for each sink of each job, and the same
        whenever the job starts."""
        self._prefix = require_instance(transactional_id_prefix, str, "set_transactional_id_prefix")
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """A property of Kafka's producer, by its Java name or librdkafka's."""
        self._properties.update(property_text(key, value))
        return self

    def build(self) -> KafkaSink:
        """The sink; what is missing is said here."""
        if not self._properties.get("bootstrap.servers"):
            raise _missing("the address of a broker", 'set_bootstrap_servers("host:9092")')
        if self._schema is None:
            raise _missing("to know how to make records", "set_record_serializer(…)")
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE and not self._prefix:
            raise _missing(
                "a prefix for its transactional ids to write exactly once",
                'set_transactional_id_prefix("…"), with another prefix for each sink',
            )
        return KafkaSink(dict(self._properties), self._schema, self._guarantee, self._prefix)


def _missing(what: str, call: str) -> InvalidArgument:
    return InvalidArgument(
        f"a Kafka sink needs {what}", origin=calling_origin(), hint=f"Call {call}."
    )
