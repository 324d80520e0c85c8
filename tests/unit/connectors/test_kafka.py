"""Kafka without a broker: what is refused when a job is planned, and what is never shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.common import SimpleStringSchema, Types
from headrace.connectors.kafka import partitions
from headrace.connectors.kafka.client import explain, translate
from headrace.connectors.kafka.partitions import PartitionEnumerator, Subscription
from headrace.connectors.kafka.producing import RecordProducer, _keep_order
from headrace.connectors.tables import find_connector
from headrace.core.logical_types import INT, STRING, Field, RowType
from headrace.core.table_connector import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    CatalogTable,
    TableSchema,
)
from headrace.core.user_code import RecordFailure
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.errors import InvalidGraph, SourceUnavailable, TypeMismatch, Unsupported
from headrace.plan.planner import plan
from headrace.table import EnvironmentSettings, TableEnvironment

SERVERS = "127.0.0.1:1"
PASSWORD = "hush-hush"
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": f'x.PlainLoginModule required username="u" password="{PASSWORD}";',
}


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def sink(
    prefix: str,
    guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    servers: str = SERVERS,
    **properties: str,
) -> KafkaSink:
    schema = KafkaRecordSerializationSchema.builder().set_topic("any")
    schema.set_value_serialization_schema(SimpleStringSchema())
    builder = KafkaSink.builder().set_bootstrap_servers(servers)
    builder.set_record_serializer(schema.build())
    builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix(prefix)
    for name, value in properties.items():
        builder.set_property(name, value)
    return builder.build()


def write_twice(env: StreamExecutionEnvironment, first: KafkaSink, second: KafkaSink) -> Any:
    words = env.from_collection(["a"], Types.STRING())
    words.sink_to(first).name("to the left")
    words.sink_to(second).name("to the right")
    return plan(env.builder.take("job", **env._graph_settings()))


class Message:
    """What Kafka's client gives of a record."""

    def __init__(self, key: bytes | None, value: bytes | None):
        self._of = key, value

    def key(self) -> bytes | None:
        return self._of[0]

    def value(self) -> bytes | None:
        return self._of[1]

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return 7

    def timestamp(self) -> tuple[int, int]:
        return 1, 99

    def headers(self) -> list[tuple[str, bytes]]:
        return [("h", b"x")]


class TestRowsOfATable:
    ROW = RowType((Field("k", INT), Field("v", STRING)))

    def rows(self, connector: str, *messages: Message, **formats: str) -> list[Any]:
        options = {
            "topic": "t",
            "key.format": "json",
            "value.format": "json",
            "value.fields-include": "EXCEPT_KEY",
            "properties.bootstrap.servers": SERVERS,
            **{name.replace("__", ".").replace("_", "-"): text for name, text in formats.items()},
        }
        if connector == "kafka":
            options |= {"key.fields": "k", "scan.startup.mode": "earliest-offset"}
        table = CatalogTable(
            TableSchema((), primary_key=("k",) if connector == "upsert-kafka" else None)
        )
        source = find_connector(connector).source(table, self.ROW, options).reader().source
        return source.create_reader()._decode(list(messages)).values

    @pytest.mark.parametrize("connector", ["kafka", "upsert-kafka"])
    def test_a_key_that_is_ignored_makes_no_row(self, connector):
        bad, good = Message(b"{", b'{"v": "x"}'), Message(b'{"k": 1}', b'{"v": "y"}')
        [row] = self.rows(connector, bad, good, key__json__ignore_parse_errors="true")
        assert row[1:] == (1, "y")

    def test_one_that_is_not_ignored_fails_and_says_where(self):
        with pytest.raises(RecordFailure) as failure:
            self.rows("kafka", Message(b"{", b'{"v": "x"}'))
        assert "offset 7 of partition 3 of topic 't'" in str(failure.value.error)

    def test_bad_keys_are_left_out_as_bad_values_are(self):
        [row] = self.rows("kafka", Message(b"{", b'{"v": "x"}'), bad_rows="skip")
        assert row[1:3] == (None, None)
        assert row[-1] == "t-3 at 7"

    def test_every_row_of_a_key_and_of_a_value_is_there(self):
        many = Message(b'[{"k": 1}, {"k": 2}]', b'[{"v": "a"}, {"v": "b"}]')
        found = [row[1:] for row in self.rows("kafka", many)]
        assert found == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]

    def test_a_record_without_a_value_deletes_its_key(self):
        assert self.rows("upsert-kafka", Message(b'{"k": 1}', None)) == [(DELETE, 1, None)]
        assert self.rows("kafka", Message(b'{"k": 1}', None)) == []


class TestChangesOfATable:
    ROW = TestRowsOfATable.ROW

    def record(self, *change: Any) -> Any:
        table = CatalogTable(TableSchema((), primary_key=("k",)))
        options = {
            "topic": "t",
            "key.format": "json",
            "value.format": "json",
            "properties.bootstrap.servers": SERVERS,
        }
        made = find_connector("upsert-kafka").sink(table, self.ROW, options)
        schema = made.sink._schema
        schema.open(0, lambda topic: 1)
        return schema.to_record(change, None)

    def test_a_row_is_a_record_by_its_key(self):
        for kind in (INSERT, UPDATE_AFTER):
            found = self.record(kind, 1, "x")
            assert (found.key, found.value) == (b'{"k":1}', b'{"k":1,"v":"x"}')

    def test_a_deletion_is_a_record_without_a_value(self):
        found = self.record(DELETE, 1, "x")
        assert (found.topic, found.key, found.value) == ("t", b'{"k":1}', None)

    def test_what_a_row_was_is_no_record(self):
        assert self.record(UPDATE_BEFORE, 1, "x") is None


class TestWholeRecords:
    def read(self, deserialize: Any, *messages: Message) -> Any:
        class Schema(KafkaRecordDeserializationSchema):
            def deserialize(self, record):
                return deserialize(record)

            def get_produced_type(self):
                return Types.PICKLED_BYTE_ARRAY()

        builder = KafkaSource.builder().set_bootstrap_servers(SERVERS).set_topics("t")
        source = builder.set_deserializer(Schema()).build()
        return source.create_reader()._decode(list(messages))

    def test_all_there_is_to_know_of_a_record(self):
        batch = self.read(lambda record: [record], Message(b"k", None))
        assert batch.values == [("t", 3, 7, 99, b"k", None, [("h", b"x")])]
        assert batch.timestamps == [99]

    def test_any_number_of_values(self):
        letters = self.read(
            lambda record: None if record.value is None else record.value.decode().split(),
            Message(None, b"a b"), Message(None, None), Message(None, b""), Message(None, b"c"),
        )  # fmt: skip
        assert letters.values == ["a", "b", "c"]
        assert letters.timestamps == [99, 99, 99]

    @pytest.mark.parametrize("given", ["text", b"bytes", 7])
    def test_a_value_alone_is_refused(self, given):
        with pytest.raises(RecordFailure) as failure:
            self.read(lambda record: given, Message(None, b"a"))
        assert "no iterable of values" in str(failure.value.error)
        assert "yield value" in str(failure.value.error)

    def test_a_schema_for_values_is_refused(self):
        with pytest.raises(TypeMismatch, match="set_value_only_deserializer"):
            KafkaSource.builder().set_deserializer(SimpleStringSchema())


class TestProperties:
    def test_names_of_java_s_client(self):
        found = translate({"client.id.prefix": "me", "ssl.endpoint.identification.algorithm": ""})
        assert found["client.id"] == "me"
        assert found["ssl.endpoint.identification.algorithm"] == "none"

    @pytest.mark.parametrize("of", ["location", "password", "type"])
    @pytest.mark.parametrize(
        ("store", "instead"),
        [("truststore", "ssl.ca.location"), ("keystore", "ssl.certificate.location and ssl.key")],
    )
    def test_java_s_key_stores_are_refused_with_what_to_write_instead(self, store, of, instead):
        with pytest.raises(
            Unsupported, match=f"ssl.{store}.{of} is about files of Java"
        ) as refused:
            translate({f"ssl.{store}.{of}": "x"})
        assert instead in str(refused.value.hint)

    @pytest.mark.parametrize("name", ["interceptor.classes", "partitioner.class"])
    def test_classes_that_would_change_something_are_refused(self, name):
        with pytest.raises(Unsupported, match=f"{name} is about classes of Java"):
            translate({name: "org.acme.Mine"})
        assert name not in translate({name: ""})


class TestOrder:
    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"acks": "all"},
            {"acks": "-1", "retries": "3"},
            {"max.in.flight.requests.per.connection": "5"},
        ],
    )
    def test_what_is_sent_once_more_takes_its_own_place(self, given):
        assert _keep_order(given) == {"enable.idempotence": True, **given}

    @pytest.mark.parametrize(
        "given",
        [
            {"acks": "1"},
            {"request.required.acks": "0"},
            {"retries": "0"},
            {"message.send.max.retries": "0"},
            {"max.in.flight.requests.per.connection": "6"},
            {"max.in.flight": "100"},
            {"enable.idempotence": "false"},
        ],
    )
    def test_unless_other_properties_forbid_it(self, given):
        assert _keep_order(given) == given

    def test_kafka_s_client_takes_both(self):
        for given in ({}, {"acks": "1"}, {"enable.idempotence": "false"}):
            RecordProducer({"bootstrap.servers": SERVERS, **given})

    @pytest.mark.parametrize(
        ("code", "text", "said"),
        [
            (
                KafkaError.CLUSTER_AUTHORIZATION_FAILED,
                "Broker: Cluster authorization failed",
                "idempotent write on the cluster",
            ),
            (
                KafkaError._FATAL,
                "Failed to acquire idempotence PID from broker x: Cluster authorization failed",
                "enable.idempotence=false",
            ),
            (
                KafkaError.TOPIC_AUTHORIZATION_FAILED,
                "Broker: Topic authorization failed",
                "which rights a job needs",
            ),
        ],
    )
    def test_a_right_that_is_missing_is_named(self, code, text, said):
        error = explain(KafkaError(code, text), SERVERS)
        assert text in error.message
        assert said in str(error.hint)


class Answers:
    """What is asked of a consumer by who finds partitions."""

    def __init__(self, settings: dict[str, Any]):
        self.hear = settings["error_cb"]
        self.topics: dict[str, Any] | None = {"t": SimpleNamespace(error=None, partitions={0: 0})}
        """None: nobody answers."""
        self.says: KafkaError | None = None
        """What is said of its own accord."""

    def poll(self, timeout: float) -> None:
        if self.says is not None:
            self.hear(self.says)

    def list_topics(self, timeout: float) -> Any:
        if self.topics is None:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "away"))
        return SimpleNamespace(topics=self.topics)

    def offsets_for_times(self, places: list[Any], timeout: float) -> list[Any]:
        if self.topics is None or any(place.topic not in self.topics for place in places):
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION, "not known here"))
        ends = {-1: 10, -2: 0}
        return [TopicPartition(each.topic, each.partition, ends[each.offset]) for each in places]

    def committed(self, places: list[Any], timeout: float) -> list[Any]:
        known = {0: 7}
        return [
            TopicPartition(each.topic, each.partition, known.get(each.partition, -1001))
            for each in places
        ]

    def close(self) -> None: ...


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Answers]:
    """The consumers that are made, of which one knows a topic `t`."""
    made: list[Answers] = []

    def make(settings: dict[str, Any]) -> Answers:
        made.append(Answers(settings))
        return made[-1]

    monkeypatch.setattr(confluent_kafka, "Consumer", make)
    monkeypatch.setattr(partitions, "_FRESH_S", -1)
    monkeypatch.setattr(partitions, "_SURE_AFTER_S", 0)
    return made


class TestWhatDoesNotHeal:
    @pytest.fixture
    def ask(self, answers: list[Answers]) -> Any:
        """How far the topic can be read."""
        enumerator = PartitionEnumerator(Subscription({"bootstrap.servers": SERVERS}, ("t",)))
        [split] = enumerator.splits()
        return lambda: enumerator.latest_position(split, 0)

    def test_a_broker_that_is_away_is_waited_for(self, ask, answers):
        assert ask() == 10
        known, answers[0].topics = answers[0].topics, None
        assert [ask() for _ in range(3)] == [10, 10, 10]
        answers[0].topics = known
        assert ask() == 10

    def test_a_topic_that_is_gone_is_not(self, ask, answers):
        assert ask() == 10
        answers[0].topics = {}
        assert ask() == 10  # perhaps a broker that does not know yet
        with pytest.raises(SourceUnavailable, match="partition 0 of topic 't' is gone") as gone:
            ask()
        assert "deleted" in str(gone.value.hint)

    def test_nor_where_nobody_asks_for_its_end(self, answers, monkeypatch):
        """In real time the tasks read by themselves."""
        monkeypatch.setattr(partitions, "_LOOK_EVERY_S", -1)
        enumerator = PartitionEnumerator(Subscription({"bootstrap.servers": SERVERS}, ("t",)))
        for _ in range(3):
            assert len(enumerator.splits()) == 1
        known, answers[0].topics = answers[0].topics, {}
        enumerator.splits()
        answers[0].topics = known
        enumerator.splits()
        answers[0].topics = {}
        enumerator.splits()
        with pytest.raises(SourceUnavailable, match="partition 0 of topic 't' is gone"):
            enumerator.splits()

    def test_nor_is_a_login_that_was_revoked(self, ask, answers):
        assert ask() == 10
        answers[0].topics = None
        answers[0].says = KafkaError(KafkaError._AUTHENTICATION, "Authentication failed")
        assert ask() == 10
        with pytest.raises(SourceUnavailable, match="refuses the login: Authentication failed"):
            ask()

    def test_what_was_said_before_kafka_answered_does_not_count(self, ask, answers):
        known = answers[0].topics
        for _ in range(3):
            answers[0].topics = {}
            assert ask() in (0, 10)
            answers[0].topics = known
            assert ask() == 10


class TestGivenOffsets:
    def starts(self, group: str | None) -> list[int]:
        given = KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 2): 5})
        names = {} if group is None else {"group.id": group}
        wanted = tuple(KafkaTopicPartition("t", n) for n in range(3))
        enumerator = PartitionEnumerator(
            Subscription({"bootstrap.servers": SERVERS, **names}, partitions=wanted, starting=given)
        )
        return [enumerator.initial_position(split) for split in enumerator.splits()]

    @pytest.mark.parametrize(("group", "starts"), [("group", [7, 0, 5]), (None, [0, 0, 5])])
    def test_others_begin_where_the_group_was(self, answers, monkeypatch, group, starts):
        """And where it never was, as the strategy says."""
        three = {"t": SimpleNamespace(error=None, partitions=dict.fromkeys(range(3)))}
        monkeypatch.setattr(Answers, "list_topics", lambda *_, **__: SimpleNamespace(topics=three))
        assert self.starts(group) == starts


class TestTransactionalIds:
    def test_two_sinks_of_a_job_may_not_share_them(self, env):
        with pytest.raises(InvalidGraph) as refused:
            write_twice(env, sink("same"), sink("same"))
        assert "'to the left' (made at " in refused.value.message
        assert "and 'to the right' both use the transactional id prefix 'same' of Kafka" in (
            refused.value.message
        )
        assert "test_kafka.py" in str(refused.value.origin)
        assert "one of its own" in str(refused.value.hint)

    def test_one_sink_may_not_end_two_streams(self, env):
        shared = sink("same")
        with pytest.raises(InvalidGraph, match="both use the transactional id prefix 'same'"):
            write_twice(env, shared, shared)

    def test_others_do_not_disturb_each_other(self, env):
        write_twice(env, sink("one"), sink("another"))
        write_twice(env, sink("same"), sink("same", servers="127.0.0.1:2"))
        at_least = DeliveryGuarantee.AT_LEAST_ONCE
        write_twice(env, sink("same", at_least), sink("same", at_least))

    def test_nor_may_two_tables_of_a_statement_set(self):
        tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        statements = tables.create_statement_set()
        for name in ("here", "there"):
            tables.execute_sql(
                f"""CREATE TABLE {name} (n INT) WITH (
                    'connector' = 'kafka', 'topic' = '{name}', 'format' = 'json',
                    'properties.bootstrap.servers' = '{SERVERS}',
                    'sink.delivery-guarantee' = 'exactly-once',
                    'sink.transactional-id-prefix' = 'same'
                )"""
            )
            statements.add_insert_sql(f"INSERT INTO {name} VALUES (1)")
        with pytest.raises(InvalidGraph, match=r"here.*there.*both use .* prefix 'same'"):
            statements.execute()


class TestPasswords:
    def test_no_plan_shows_one(self, env):
        env.from_collection(["a"], Types.STRING()).sink_to(sink("once", **LOGIN)).name("to Kafka")
        assert "to Kafka" in env.explain()
        assert PASSWORD not in env.explain() + env.get_execution_plan()

    def test_nor_does_a_source_or_a_sink_that_is_printed(self):
        source = KafkaSource.builder().set_bootstrap_servers(SERVERS).set_topics("any")
        source.set_value_only_deserializer(SimpleStringSchema()).set_properties(LOGIN)
        assert PASSWORD not in repr(source.build()) + repr(sink("once", **LOGIN))

    def test_no_plan_of_a_query_shows_one(self):
        tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        login = ", ".join(f"'properties.{name}' = '{value}'" for name, value in LOGIN.items())
        tables.execute_sql(
            f"""CREATE TABLE t (n INT) WITH (
                'connector' = 'kafka', 'topic' = 'any', 'format' = 'json',
                'scan.startup.mode' = 'earliest-offset',
                'properties.bootstrap.servers' = '{SERVERS}', {login}
            )"""
        )
        shown = tables.explain_sql("INSERT INTO t SELECT n + 1 FROM t")
        assert "any" in shown or "t" in shown
        assert PASSWORD not in shown
