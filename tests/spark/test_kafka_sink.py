"""Writing to Kafka: whole jobs, and the parts of a transaction one by one."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.common import SimpleStringSchema, Types, WatermarkStrategy
from headrace.connectors.kafka.committer import TransactionCommitter
from headrace.connectors.kafka.transactions import MEMBERS, Prepared
from headrace.core.operator import TaskInfo
from headrace.core.sink import SinkWriter
from headrace.core.user_code import RecordFailure
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSource,
    KafkaTopicSelector,
)
from headrace.errors import HeadraceError, InvalidArgument, JobFailed, SourceUnavailable
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.kafka_tools import await_ends, committed, complaint
from tests.spark.conftest import wait_until

TEXT = SimpleStringSchema()
ONCE = DeliveryGuarantee.EXACTLY_ONCE


@pytest.fixture(scope="module")
def topics(broker: KafkaBroker) -> Topics:
    return Topics(broker.bootstrap_servers)


def schema(topic: str) -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return builder.set_value_serialization_schema(TEXT).build()


def writing(topics: Topics, records: Any, guarantee: DeliveryGuarantee = ONCE) -> KafkaSinkBuilder:
    builder = KafkaSink.builder().set_bootstrap_servers(topics.servers)
    builder.set_record_serializer(schema(records) if isinstance(records, str) else records)
    return builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix(f"p-{records}")


class Headers(KafkaRecordSerializationSchema):
    def __init__(self, topic: str):
        self.topic = topic

    def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        if value == "none":
            return None
        assert self.topic is not None
        headers = [("kind", b"test")]
        return KafkaProducerRecord(self.topic, value.encode(), b"k", 1, headers, 1234)


class ByValue(KafkaTopicSelector):
    def __init__(self, topics: list[str]):
        self.topics = topics

    def apply(self, data: str) -> str:
        return self.topics[int(data) % 2]


class TestWholeJobs:
    @pytest.mark.parametrize("guarantee", list(DeliveryGuarantee))
    def test_every_record_arrives(self, env, topics, mode, guarantee):
        topic = topics.create(partitions=2)
        numbers = env.from_collection([str(n) for n in range(500)], Types.STRING())
        numbers.rebalance().sink_to(writing(topics, topic, guarantee).build())
        env.execute("numbers")
        assert Counter(committed(topics, topic)) == Counter(str(n) for n in range(500))

    def test_keys_choose_the_partition_as_in_java(self, env, topics):
        topic = topics.create(partitions=3)
        records = KafkaRecordSerializationSchema.builder().set_topic(topic)
        records.set_key_serialization_schema(TEXT).set_value_serialization_schema(TEXT)
        keys = env.from_collection(list("abcdef"), Types.STRING())
        keys.sink_to(writing(topics, records.build(), DeliveryGuarantee.AT_LEAST_ONCE).build())
        env.execute("keys")
        found = {each.key().decode(): each.partition() for each in topics.read(topic)}
        assert found == {key: murmur2(key.encode()) % 3 for key in "abcdef"}

    def test_a_selector_chooses_the_topic(self, env, topics):
        both = [topics.create(), topics.create()]
        records = KafkaRecordSerializationSchema.builder().set_topic_selector(ByValue(both))
        records.set_value_serialization_schema(TEXT)
        numbers = env.from_collection(["1", "2", "3"], Types.STRING())
        numbers.sink_to(writing(topics, records.build()).build())
        env.execute("two topics")
        assert [sorted(committed(topics, topic)) for topic in both] == [["2"], ["1", "3"]]

    def test_headers_partitions_and_times_of_ones_own(self, env, topics):
        topic = topics.create(partitions=2)
        texts = env.from_collection(["a", "none"], Types.STRING())
        texts.sink_to(writing(topics, Headers(topic)).build())
        env.execute("headers")
        await_ends(topics, topic)
        [message] = topics.read(topic)
        assert (message.value(), message.key(), message.partition()) == (b"a", b"k", 1)
        assert message.headers() == [("kind", b"test")]
        assert message.timestamp()[1] == 1234


def murmur2(data: bytes) -> int:
    """The hash of Kafka's Java client, for keys of one byte; its sign bit cleared."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    assert len(data) == 1
    h = ((h ^ data[0]) * m) & mask
    h ^= h >> 13
    h = (h * m) & mask
    h ^= h >> 15
    return h & 0x7FFFFFFF


class Part:
    """One task of a sink and the committer beside a driver, without a job around them."""

    def __init__(self, topics: Topics, topic: str, folder: Path):
        self.sink = writing(topics, topic).build()
        self.task = TaskInfo("sink", "sink", output_id="out", kept_folder=str(folder))
        self.committer = self.new_committer()

    def new_committer(self) -> TransactionCommitter:
        committer = self.sink.create_committer()
        assert isinstance(committer, TransactionCommitter)
        committer.open(self.task)
        committer.recovered()
        return committer

    def write(self, checkpoint: int, *values: str) -> SinkWriter[Any]:
        task = TaskInfo(
            "sink", "sink", output_id="out", kept_folder=self.task.kept_folder, batch_id=checkpoint
        )
        writer = self.sink.create_writer(task)
        for value in values:
            writer.write(value, None)
        return writer

    def prepare(self, checkpoint: int, *values: str) -> list[Prepared]:
        """What goes through the journal of a job."""
        writer = self.write(checkpoint, *values)
        prepared: list[Prepared] = pickle.loads(pickle.dumps(writer.prepare_commit()))
        writer.close()
        return prepared


def kept_files(folder: Path) -> list[Path]:
    return [path for path in (folder / "kept").rglob("*") if path.is_file()]


@pytest.fixture
def topic(topics: Topics) -> str:
    return topics.create()


@pytest.fixture
def part(topics: Topics, topic: str, tmp_path: Path) -> Part:
    return Part(topics, topic, tmp_path / "kept")


class TestTransactions:
    def test_nothing_is_seen_before_the_commit_and_nothing_kept_after_it(
        self, topics, topic, part, tmp_path
    ):
        prepared = part.prepare(1, "a", "b")
        assert topics.values(topic) == []
        assert len(kept_files(tmp_path)) == 1
        part.committer.commit(prepared)
        assert committed(topics, topic) == ["a", "b"]
        assert not kept_files(tmp_path)

    def test_a_commit_that_is_repeated_changes_nothing(self, topics, topic, part):
        prepared = part.prepare(1, "a")
        part.committer.commit(prepared)
        part.committer.commit(prepared)
        part.new_committer().recover(prepared)
        assert committed(topics, topic) == ["a"]

    def test_what_a_dead_task_has_prepared_is_written_anew(self, topics, topic, part):
        [prepared] = part.prepare(1, "a", "b")
        lost = pickle.loads(pickle.dumps(prepared))
        object.__setattr__(lost, "door", ("127.0.0.1", 1, b"x"))
        later = part.prepare(2, "c")
        part.committer.commit([lost])
        part.committer.commit(later)  # in the log it was before the others
        assert committed(topics, topic) == ["a", "b", "c"]

    def test_many_checkpoints_may_wait_for_their_commit(self, topics, topic, part):
        """More than there are producers: the rest is only kept, and so is what comes after it."""
        waiting = [part.prepare(number, str(number)) for number in range(1, MEMBERS + 2)]
        part.committer.commit(waiting.pop(0))
        waiting.append(part.prepare(MEMBERS + 2, str(MEMBERS + 2)))  # a producer is free again
        for prepared in waiting:
            part.committer.commit(prepared)
        assert committed(topics, topic) == ["1", "2", "3", "4", "5"]

    def test_a_transaction_that_kafka_has_given_up_is_written_anew(self, topics, topic, part):
        """As after a checkpoint that took longer than transaction.timeout.ms."""
        writer = part.write(1, "a")
        part.committer._take_over(f"p-{topic}-0-0")
        writer.write("b", None)
        prepared = writer.prepare_commit()
        part.committer.commit(prepared)
        assert committed(topics, topic) == ["a", "b"]
        part.committer.commit(part.prepare(2, "c"))
        assert committed(topics, topic) == ["a", "b", "c"]

    def test_a_successor_ends_what_is_open_and_is_alone_then(self, topics, topic, part):
        left = part.prepare(1, "a")
        part.write(2, "b")
        assert topics.has_open_transactions(topic)
        successor = part.new_committer()
        await_ends(topics, topic)
        with pytest.raises(JobFailed, match="another job has begun to write"):
            part.committer.commit(left)
        assert topics.values(topic) == []
        assert successor is not None

    def test_a_writer_that_is_closed_takes_everything_back(self, topics, topic, part, tmp_path):
        writer = part.write(1, "a")
        writer.close()
        await_ends(topics, topic)
        assert not kept_files(tmp_path)


def write_one(sink: KafkaSink) -> None:
    """What a driver and a worker do first."""
    task = TaskInfo("sink", "sink", output_id="out")
    committer = sink.create_committer()
    if committer is not None:
        committer.open(task)
    try:
        sink.create_writer(task).write("a", None)
    except RecordFailure as failure:
        raise failure.error from None


class TestErrors:
    @pytest.mark.parametrize("guarantee", [ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
    def test_an_unknown_topic(self, env, topics, guarantee):
        env.from_collection(["a"], Types.STRING()).sink_to(
            writing(topics, "no-such-topic", guarantee).build()
        )
        with pytest.raises(HeadraceError, match="has no topic 'no-such-topic'"):
            env.execute("nowhere")

    @pytest.mark.parametrize("guarantee", [ONCE, DeliveryGuarantee.AT_LEAST_ONCE])
    @pytest.mark.parametrize("kind", ["wrong password", "no TLS there"])
    def test_a_broker_that_does_not_let_it_in(self, topics, broker, guarantee, kind):
        builder = writing(topics, "any", guarantee)
        if kind == "wrong password":
            builder.set_bootstrap_servers(broker.sasl_servers)
            builder.set_property("security.protocol", "SASL_PLAINTEXT")
            builder.set_property("sasl.mechanism", "PLAIN")
            builder.set_property("sasl.username", "headrace")
            builder.set_property("sasl.password", "not-it-at-all")
        else:
            builder.set_property("security.protocol", "SSL")
        said = "refuses the login" if kind == "wrong password" else "does security.protocol fit"
        text = complaint(
            lambda ms: write_one(builder.set_property("default.api.timeout.ms", ms).build()), said
        )
        assert said in text
        assert "not-it-at-all" not in text

    def test_a_second_job_with_the_same_prefix_ends_the_first(self, topics):
        """Nothing of the first is doubled, and it says why it ends."""
        first, second = topics.create(), topics.create()
        sink = writing(topics, second).set_transactional_id_prefix("both")
        env = StreamExecutionEnvironment.get_execution_environment()
        env.enable_checkpointing(100)
        env.configuration.set_string("restart-strategy.type", "none")
        source = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(first)
        source.set_value_only_deserializer(TEXT)
        read = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "in")
        read.sink_to(sink.build())
        topics.send(first, ["a"])
        job = env.execute_async("the first")
        wait_until(lambda: topics.values(second) == ["a"])
        other = StreamExecutionEnvironment.get_execution_environment()
        other.from_collection(["b"], Types.STRING()).sink_to(sink.build())
        other.execute("the second")
        topics.send(first, ["c"])
        with pytest.raises(JobFailed) as ended:
            job.get_job_execution_result().result(timeout=120)
        said = "another job has begun to write with the transactional id prefix 'both'"
        assert said in str(ended.value)
        assert "prefix of its own" in str(ended.value)
        assert sorted(committed(topics, second)) == ["a", "b"]

    def test_no_broker(self, env, topics):
        builder = writing(topics, "any").set_bootstrap_servers("127.0.0.1:1")
        builder.set_property("default.api.timeout.ms", "2000")
        env.from_collection(["a"], Types.STRING()).sink_to(builder.build())
        with pytest.raises(SourceUnavailable, match=r"no Kafka broker answers at 127\.0\.0\.1:1"):
            env.execute("nobody")

    def test_a_prefix_is_needed_to_write_exactly_once(self, topics):
        builder = KafkaSink.builder().set_bootstrap_servers(topics.servers)
        builder.set_record_serializer(schema("any")).set_delivery_guarantee(ONCE)
        with pytest.raises(InvalidArgument, match="a prefix for its transactional ids"):
            builder.build()

    @pytest.mark.parametrize(
        ("builder", "missing"),
        [
            (KafkaSink.builder(), "the address of a broker"),
            (KafkaRecordSerializationSchema.builder(), "a topic"),
            (KafkaRecordSerializationSchema.builder().set_topic("t"), "a schema for values"),
        ],
    )
    def test_what_is_missing_is_said(self, builder, missing):
        with pytest.raises(InvalidArgument, match=missing):
            builder.build()
