"""Reading Kafka: a real broker, whole jobs, every way to run them."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import pytest

from headrace.common import (
    Configuration,
    SimpleStringSchema,
    TypeInformation,
    Types,
    WatermarkStrategy,
)
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.connectors.kafka import partitions
from headrace.connectors.kafka.source import KafkaSourceBuilder
from headrace.datastream import ProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import (
    KafkaConsumerRecord,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.errors import HeadraceError, InvalidArgument, SourceUnavailable, Unsupported
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.kafka_tools import await_ends, complaint

NO_TIME = WatermarkStrategy.no_watermarks()
LATEST = KafkaOffsetsInitializer.latest()


@pytest.fixture(scope="module")
def topics(broker: KafkaBroker) -> Topics:
    return Topics(broker.bootstrap_servers)


def reading(topics: Topics, *names: str) -> KafkaSourceBuilder:
    builder = KafkaSource.builder().set_bootstrap_servers(topics.servers)
    builder.set_value_only_deserializer(SimpleStringSchema())
    return builder.set_topics(*names) if names else builder


def bounded(topics: Topics, *names: str) -> KafkaSourceBuilder:
    return reading(topics, *names).set_bounded(LATEST)


class TestWholeJobs:
    def test_every_record_is_read_once(self, env, collected, topics, mode):
        topic = topics.create(partitions=3)
        topics.send(topic, range(1000))
        stream = env.from_source(bounded(topics, topic).build(), NO_TIME, "numbers")
        assert collected(stream.map(int)) == Counter(range(1000))

    def test_a_record_has_the_time_that_kafka_knows(self, env, collected, topics, mode):
        topic = topics.create()
        topics.send(topic, ["a"], timestamp=1_234_567)
        stream = env.from_source(bounded(topics, topic).build(), NO_TIME, "times")
        assert collected(stream.process(Times())) == Counter([("a", 1_234_567)])

    def test_whole_records_become_any_number_of_values(self, env, collected, topics, mode):
        topic = topics.create()
        topics.send(topic, ["a b"], key="k", timestamp=5)
        topics.send(topic, [None], key="gone", timestamp=6)
        builder = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(topic)
        source = builder.set_deserializer(Words()).set_bounded(LATEST).build()
        stream = env.from_source(source, NO_TIME, "words")
        assert collected(stream.process(Times())) == Counter(
            [(("k", 0, "a"), 5), (("k", 0, "b"), 5), (("gone", 1, None), 6)]
        )

    def test_a_record_without_a_value_is_left_out(self, env, collected, topics):
        topic = topics.create()
        topics.send(topic, ["a", None, "b"])
        stream = env.from_source(bounded(topics, topic).build(), NO_TIME, "tombstones")
        assert collected(stream) == Counter("ab")

    def test_json_becomes_rows(self, env, collected, topics):
        topic = topics.create()
        topics.send(topic, ['{"id": 1, "name": "x"}'])
        kind = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        schema = JsonRowDeserializationSchema.builder().type_info(kind).build()
        source = bounded(topics, topic).set_value_only_deserializer(schema).build()
        rows = env.from_source(source, NO_TIME, "rows")
        assert collected(rows.map(lambda row: (row.id, row.name))) == Counter([(1, "x")])

    def test_each_partition_has_its_own_watermark(self, env, collected, topics, streaming):
        """Event time stays behind the slowest partition, so nothing in order is late, though some
        of each is read by turns and time goes on in between."""
        topic = topics.create(partitions=2)
        topics.send(topic, range(0, 1000, 10), partition=0)
        topics.send(topic, range(100_000, 101_000, 10), partition=1)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
        env.set_parallelism(1)
        env.get_config().set_auto_watermark_interval(1)
        env.configuration.set_string("headrace.stream.max-records-per-batch", "40")
        source = bounded(topics, topic).set_property("max.poll.records", "5").build()
        stream = env.from_source(source, strategy, "two")
        assert not [late for late in collected(stream.process(Late())) if late[1]]


class Times(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


class Words(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaConsumerRecord) -> Any:
        key = (record.key or b"").decode()
        for word in [None] if record.value is None else record.value.decode().split():
            yield key, record.offset, word

    def get_produced_type(self) -> TypeInformation:
        return Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING()])


class Late(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Any:
        yield value, int(value) <= ctx.timer_service().current_watermark()


class Number(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return int(value)


class TestTransactions:
    def test_only_what_is_committed_is_read_if_that_is_asked_for(self, env, collected, topics):
        topic = topics.create()
        topics.transaction(topic, "ab")
        topics.transaction(topic, "x", ends="abort")
        topics.transaction(topic, "c")
        topics.transaction(topic, "y", ends="abort")
        await_ends(topics, topic)
        source = bounded(topics, topic).set_property("isolation.level", "read_committed")
        assert collected(env.from_source(source.build(), NO_TIME, "in")) == Counter("abc")

    def test_otherwise_all_of_it_is(self, env, collected, topics):
        topic = topics.create()
        topics.transaction(topic, "ab")
        left_open = topics.transaction(topic, "x", ends="")
        stream = env.from_source(bounded(topics, topic).build(), NO_TIME, "in")
        assert collected(stream) == Counter("abx")
        left_open.abort_transaction()


class TestGoingOn:
    def test_new_partitions_and_topics_are_found_and_offsets_shown(self, env, topics, eventually):
        """They are read from their first record on, wherever the others began."""
        first = topics.create(name="found")
        topics.send(first, "ab")
        at_b = {KafkaTopicPartition(first, 0): 1}
        starting = KafkaOffsetsInitializer.offsets(at_b, KafkaOffsetResetStrategy.LATEST)
        builder = reading(topics).set_topic_pattern(rf"(also-)?{first}.*")
        builder.set_starting_offsets(starting).set_group_id(first)
        builder.set_property("partition.discovery.interval.ms", "200")
        env.enable_checkpointing(200)
        stream = env.from_source(builder.build(), NO_TIME, "in")
        with stream.execute_and_collect() as results:
            assert results.next() == "b"
            other = topics.create(name=f"also-{first}")
            topics.send(other, "c")
            topics.add_partitions(first, 2)
            topics.send(first, "d", partition=1)
            assert {results.next(), results.next()} == {"c", "d"}
            eventually(lambda: topics.group_offsets(first, other) == [1])
            eventually(lambda: topics.group_offsets(first, first) == [2, 1])

    def test_a_job_that_comes_back_reads_on(self, topics, tmp_path):
        topic = topics.create(partitions=2)
        found: Counter[str] = Counter()
        for part in (range(100), range(100, 150)):
            topics.send(topic, part)
            settings = Configuration()
            settings.set_string("execution.checkpointing.dir", str(tmp_path))
            env = StreamExecutionEnvironment.get_execution_environment(settings)
            env.enable_checkpointing(100)
            stream = env.from_source(reading(topics, topic).build(), NO_TIME, "in")
            with stream.execute_and_collect("comes back") as results:
                found.update(results.next() for _ in part)
        assert found == Counter(map(str, range(150)))


def starts(builder: KafkaSourceBuilder) -> list[int]:
    """Where the partitions of a source begin."""
    enumerator = builder.build().create_enumerator()
    try:
        return [enumerator.initial_position(split) for split in enumerator.splits()]
    finally:
        enumerator.close()


def was_at(topics: Topics, topic: str, offset: int) -> None:
    """Let the group `was` have read the first partition of a topic up to an offset."""
    enumerator = reading(topics, topic).set_group_id("was").build().create_enumerator()
    enumerator.splits()
    enumerator.checkpoint_completed({f"{topic}-0": offset})
    enumerator.close()


@pytest.fixture(scope="module")
def topic(topics: Topics) -> str:
    name = topics.create(partitions=2)
    topics.send(name, "abc", partition=0, timestamp=1000)
    topics.send(name, "de", partition=0, timestamp=2000)
    topics.send(name, "f", partition=1, timestamp=1000)
    return name


class TestWhereReadingBegins:
    def test_at_either_end(self, topics, topic):
        from_source = reading(topics, topic)
        assert starts(from_source) == [0, 0]
        assert starts(from_source.set_starting_offsets(LATEST)) == [5, 1]

    def test_by_time(self, topics, topic):
        by_time = KafkaOffsetsInitializer.timestamp(1500)
        assert starts(reading(topics, topic).set_starting_offsets(by_time)) == [3, 1]

    def test_at_given_offsets(self, topics, topic):
        given = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 2})
        assert starts(reading(topics, topic).set_starting_offsets(given)) == [2, 0]

    def test_where_a_group_was(self, topics, topic):
        was_at(topics, topic, 4)
        was = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST)
        builder = reading(topics, topic).set_group_id("was").set_starting_offsets(was)
        assert starts(builder) == [4, 1]

    def test_a_group_that_wants_no_offsets_has_none(self, topics, topic):
        was_at(topics, topic, 4)
        builder = reading(topics, topic).set_group_id("was")
        silent = builder.set_property("commit.offsets.on.checkpoint", False)
        enumerator = silent.build().create_enumerator()
        enumerator.splits()
        enumerator.checkpoint_completed({f"{topic}-0": 5})
        enumerator.close()  # what it has to say by then is said
        assert topics.group_offsets("was", topic)[0] == 4

    def test_only_some_partitions(self, topics, topic):
        builder = reading(topics).set_partitions({KafkaTopicPartition(topic, 1)})
        assert starts(builder.set_starting_offsets(LATEST)) == [1]


def failing(env: StreamExecutionEnvironment, source: Any) -> HeadraceError:
    env.from_source(source, NO_TIME, "in").print()
    with pytest.raises(HeadraceError) as failure:
        env.execute("fails")
    return failure.value


class TestErrors:
    def test_an_unknown_topic(self, env, topics, mode):
        known = topics.create(name="aaa")
        error = failing(env, bounded(topics, "no-such-topic").build())
        assert f"Kafka at {topics.servers} has no topic 'no-such-topic'" in str(error)
        assert known in str(error)
        assert "test_kafka_source.py" in str(error)

    def test_a_topic_that_is_deleted_while_it_is_read(self, env, topics, monkeypatch):
        monkeypatch.setattr(partitions, "_LOOK_EVERY_S", 1)
        topic = topics.create()
        topics.send(topic, "a")
        env.configuration.set_string("restart-strategy.type", "none")
        stream = env.from_source(reading(topics, topic).build(), NO_TIME, "in")
        with stream.execute_and_collect() as results:
            assert results.next() == "a"
            topics.admin.delete_topics([topic])[topic].result()
            with pytest.raises(HeadraceError, match=f"partition 0 of topic '{topic}' is gone"):
                results.next()

    def test_a_partition_that_is_not_there(self, topics):
        topic = topics.create(partitions=2)
        builder = reading(topics).set_partitions({KafkaTopicPartition(topic, 2)})
        with pytest.raises(InvalidArgument, match="has 2 partitions, and none with number 2"):
            starts(builder)

    def test_no_broker(self, env, topics):
        builder = bounded(topics, "any").set_bootstrap_servers("127.0.0.1:1")
        error = failing(env, builder.set_property("default.api.timeout.ms", "2000").build())
        assert "no Kafka broker answers at 127.0.0.1:1" in str(error)

    def test_a_wrong_password_is_refused_and_not_shown(self, broker, topics):
        builder = bounded(topics, "any").set_bootstrap_servers(broker.sasl_servers)
        builder.set_properties(
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
                'required username="headrace" password="not-it-at-all";',
            }
        )

        def login(patience: str) -> None:
            starts(builder.set_property("default.api.timeout.ms", patience))

        text = complaint(login, "refuses the login")
        assert "refuses the login" in text
        assert "not-it-at-all" not in text

    def test_a_login_at_a_port_that_wants_none(self, topics):
        builder = bounded(topics, "any").set_properties(
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "headrace",
                "sasl.password": "not-for-everybody",
                "default.api.timeout.ms": "3000",
            }
        )
        with pytest.raises(SourceUnavailable) as failure:
            starts(builder)
        assert topics.servers in str(failure.value)
        assert "security.protocol" in str(failure.value)
        assert "not-for-everybody" not in str(failure.value)

    def test_tls_at_a_port_that_speaks_none(self, topics):
        builder = bounded(topics, "any").set_property("security.protocol", "SSL")

        def connect(patience: str) -> None:
            starts(builder.set_property("default.api.timeout.ms", patience))

        text = complaint(connect, "SSL")
        assert "no Kafka broker answers" in text
        assert "SSL" in text
        assert "does security.protocol fit the port?" in text

    def test_the_right_password_is_taken(self, broker, topics):
        topic = topics.create()
        name, password = broker.user
        builder = reading(topics, topic).set_bootstrap_servers(broker.sasl_servers)
        builder.set_properties(
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.jaas.config": f'x.PlainLoginModule required username="{name}" '
                f'password="{password}";',
            }
        )
        assert starts(builder) == [0]

    def test_a_record_that_is_not_what_it_should_be(self, env, topics):
        topic = topics.create()
        topics.send(topic, ["1", "x"])
        stream = env.from_source(
            bounded(topics, topic).set_value_only_deserializer(Whole()).build(), NO_TIME, "in"
        )
        stream.print()
        with pytest.raises(HeadraceError) as failure:
            env.execute("undecodable")
        said = f"the record at offset 1 of partition 0 of topic {topic!r} cannot be decoded"
        assert said in str(failure.value)
        assert "invalid literal for int()" in str(failure.value)

    def test_a_group_that_has_committed_nothing(self, topics):
        topic = topics.create()
        was = KafkaOffsetsInitializer.committed_offsets()
        builder = reading(topics, topic).set_group_id("never").set_starting_offsets(was)
        with pytest.raises(InvalidArgument, match="'never' has committed no offset"):
            starts(builder)

    def test_a_property_that_nobody_knows(self, topics):
        builder = reading(topics, "any").set_property("no.such.property", "1")
        with pytest.raises(InvalidArgument, match=r"no\.such\.property"):
            starts(builder)

    def test_the_missing_package_is_named(self, topics, monkeypatch):
        monkeypatch.setitem(sys.modules, "confluent_kafka", None)
        with pytest.raises(Unsupported, match="needs the package confluent-kafka") as failure:
            starts(reading(topics, "any"))
        assert "headrace[kafka]" in str(failure.value)


class Whole(SimpleStringSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message)
