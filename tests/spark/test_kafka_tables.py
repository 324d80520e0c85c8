"""Tables in Kafka, by SQL."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.connectors.kafka.client import ask_patiently
from headrace.errors import HeadraceError, InvalidArgument
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.conftest import ROOT
from tests.servers.kafka_tools import committed
from tests.spark.conftest import wait_until
from tests.unit.formats.registry_server import Registry


@pytest.fixture(scope="module")
def topics(broker: KafkaBroker) -> Topics:
    return Topics(broker.bootstrap_servers)


@pytest.fixture
def tables() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def options(topics: Topics, topic: str, **more: str) -> str:
    given = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.servers,
        "format": "json",
        "scan.startup.mode": "earliest-offset",
        "scan.bounded.mode": "latest-offset",
        **{key.replace("__", "-").replace("_", "."): value for key, value in more.items()},
    }
    return "WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in given.items() if v) + ")"


def upsert(topics: Topics, topic: str, **more: str) -> str:
    more = {"key_format": "json", "value_format": "json", **more}
    return options(topics, topic, connector="upsert-kafka", format="", scan_startup_mode="", **more)


@pytest.fixture(scope="module")
def four(topics: Topics) -> str:
    """A topic of four records, a second apart, of which a group has read one."""
    topic = topics.create()
    for number in (1, 2, 3, 4):
        topics.send(topic, [number], timestamp=1000 * number)
    group = Consumer({"bootstrap.servers": topics.servers, "group.id": "readers"})
    places = [TopicPartition(topic, 0, 1)]
    ask_patiently(lambda: group.commit(offsets=places, asynchronous=False), 60)
    group.close()
    return topic


def rows(tables: TableEnvironment, query: str) -> list[Any]:
    with tables.execute_sql(query).collect() as results:
        return sorted((str(row.get_row_kind()), *row) for row in results)


def values(tables: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return [row[1:] for row in rows(tables, query)]


class TestKafka:
    def test_from_one_topic_to_another(self, tables, topics):
        first, second = topics.create(partitions=2), topics.create()
        topics.send(first, ['{"id": 1, "name": "a"}', '{"id": 2, "name": "b"}'])
        tables.execute_sql(f"CREATE TABLE a (id INT, name STRING) {options(topics, first)}")
        tables.execute_sql(f"CREATE TABLE b (id INT, name STRING) {options(topics, second)}")
        tables.execute_sql("INSERT INTO b SELECT id * 10, UPPER(name) FROM a").wait()
        found = sorted(topics.values(second))
        assert found == ['{"id":10,"name":"A"}', '{"id":20,"name":"B"}']
        assert values(tables, "SELECT * FROM b") == [(10, "A"), (20, "B")]

    def test_keys_and_metadata_are_read_and_written(self, tables, topics):
        topic = topics.create()
        tables.execute_sql(
            f"""CREATE TABLE t (
                k_id INT, headers MAP<STRING, BYTES> METADATA,
                name STRING, moment TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
                `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL,
                topic STRING METADATA VIRTUAL, kind STRING METADATA FROM 'timestamp-type' VIRTUAL
            ) {
                options(
                    topics,
                    topic,
                    key_format="json",
                    key_fields="k_id",
                    key_fields__prefix="k_",
                    value_fields__include="EXCEPT_KEY",
                )
            }"""
        )
        tables.execute_sql(
            "INSERT INTO t VALUES (7, MAP['h', x'01'], 'x', TO_TIMESTAMP_LTZ(5000, 3))"
        ).wait()
        [message] = topics.read(topic)
        assert (message.key(), message.value()) == (b'{"id":7}', b'{"name":"x"}')
        assert message.headers() == [("h", b"\x01")]
        assert message.timestamp()[1] == 5000
        query = "SELECT k_id, name, `partition`, `offset`, topic, kind, headers['h'] FROM t"
        assert values(tables, query) == [(7, "x", 0, 0, topic, "CreateTime", b"\x01")]

    def test_where_reading_begins_and_ends(self, tables, topics):
        topic = topics.create()
        topics.send(topic, ["1", "2", "3", "4"])
        places = {
            "scan_startup_mode": "specific-offsets",
            "scan_startup_specific__offsets": "partition:0,offset:1",
            "scan_bounded_mode": "specific-offsets",
            "scan_bounded_specific__offsets": "partition:0,offset:3",
        }
        given = options(topics, topic, **{**places, "format": "raw"})
        tables.execute_sql(f"CREATE TABLE t (n STRING) {given}")
        assert values(tables, "SELECT n FROM t") == [("2",), ("3",)]

    @pytest.mark.parametrize(
        ("places", "found"),
        [
            ({"scan_startup_mode": "timestamp", "scan_startup_timestamp__millis": "2500"}, "34"),
            ({"scan_startup_mode": "latest-offset"}, ""),
            ({"scan_startup_mode": "group-offsets", "properties_group_id": "readers"}, "234"),
            ({"scan_bounded_mode": "timestamp", "scan_bounded_timestamp__millis": "2500"}, "12"),
            ({"scan_bounded_mode": "group-offsets", "properties_group_id": "readers"}, "1"),
        ],
        ids=lambda each: " ".join(each.values()) if isinstance(each, dict) else "",
    )
    def test_every_mode_to_begin_and_to_end(self, tables, four, topics, places, found):
        tables.execute_sql(
            f"CREATE TABLE t (n STRING) {options(topics, four, format='raw', **places)}"
        )
        assert values(tables, "SELECT n FROM t") == [(each,) for each in found]

    @pytest.mark.parametrize("by_pattern", [False, True])
    def test_several_topics_are_one_table(self, tables, topics, by_pattern):
        name = f"part-{uuid.uuid4().hex[:8]}"
        for part in "ab":
            topics.send(topics.create_named(f"{name}-{part}"), [part])
        if by_pattern:
            given = options(topics, "", format="raw", topic__pattern=f"{name}-.")
        else:
            given = options(topics, f"{name}-a;{name}-b", format="raw")
        tables.execute_sql(f"CREATE TABLE t (n STRING, topic STRING METADATA VIRTUAL) {given}")
        assert values(tables, "SELECT n, topic FROM t") == [
            ("a", f"{name}-a"),
            ("b", f"{name}-b"),
        ]

    @pytest.mark.parametrize("partitioner", ["fixed", "round-robin"])
    def test_who_chooses_the_partition(self, tables, topics, partitioner):
        topic = topics.create(partitions=2)
        tables.get_config().set("parallelism.default", "1")
        given = options(topics, topic, format="raw", sink_partitioner=partitioner)
        tables.execute_sql(f"CREATE TABLE t (n STRING) {given}")
        tables.execute_sql("INSERT INTO t VALUES ('a'), ('b'), ('c'), ('d')").wait()
        found = Counter(message.partition() for message in topics.read(topic))
        assert found == ({0: 4} if partitioner == "fixed" else {0: 2, 1: 2})

    @pytest.mark.parametrize(
        "format", ["avro", "csv", "debezium-json", "canal-json", "maxwell-json", "ogg-json"]
    )
    def test_what_is_written_in_a_format_is_read_in_it(self, tables, topics, format):
        given = options(topics, topics.create(), format=format)
        tables.execute_sql(f"CREATE TABLE t (id BIGINT, v STRING, x DOUBLE) {given}")
        rows = [(1, 'a,b"', 0.5), (2, "ü", -7.0)]
        tables.execute_sql("INSERT INTO t VALUES (1, 'a,b\"', 0.5), (2, 'ü', -7)").wait()
        assert values(tables, "SELECT * FROM t") == rows

    def test_changes_of_another_system_are_changes(self, tables, topics):
        topic = topics.create()
        before, after = {"id": 1, "n": 1}, {"id": 1, "n": 5}
        changes = [
            {"before": None, "after": before, "op": "c"},
            {"before": before, "after": after, "op": "u"},
        ]
        topics.send(topic, [json.dumps(each) for each in changes])
        given = options(topics, topic, format="debezium-json")
        tables.execute_sql(f"CREATE TABLE t (id INT, n INT) {given}")
        assert values(tables, "SELECT SUM(n) FROM t")[-1] == (5,)

    def test_a_row_that_is_deleted_is_a_record_without_a_value(self, tables, topics):
        """Of a query that goes on: one that ends writes only what is there in the end."""
        changed, last = topics.create(), topics.create()
        row = {"id": 2, "n": 7}
        made = [{"before": None, "after": each, "op": "c"} for each in ({"id": 1, "n": 1}, row)]
        topics.send(changed, [json.dumps(each) for each in made])
        given = options(topics, changed, format="debezium-json", scan_bounded_mode="")
        tables.execute_sql(f"CREATE TABLE t (id INT, n INT) {given}")
        tables.execute_sql(
            f"CREATE TABLE u (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED) {upsert(topics, last)}"
        )
        job = tables.execute_sql("INSERT INTO u SELECT id, n FROM t").get_job_client()
        wait_until(lambda: len(topics.read(last)) == 2)
        topics.send(changed, [json.dumps({"before": row, "after": None, "op": "d"})])
        wait_until(lambda: len(topics.read(last)) == 3)
        job.cancel().result()
        found = topics.read(last)[-1]
        assert (found.key(), found.value()) == (b'{"id":2}', None)
        assert values(tables, "SELECT * FROM u") == [(1, 1)]

    def test_exactly_once_leaves_no_transaction_open(self, tables, topics):
        topic = topics.create()
        given = options(
            topics,
            topic,
            sink_delivery__guarantee="exactly-once",
            sink_transactional__id__prefix=f"tx-{topic}",
        )
        tables.execute_sql(f"CREATE TABLE t (n INT) {given}")
        tables.execute_sql("INSERT INTO t VALUES (1), (2)").wait()
        assert sorted(committed(topics, topic)) == ['{"n":1}', '{"n":2}']

    def test_bad_rows_can_be_left_out(self, tables, topics):
        topic = topics.create()
        topics.send(topic, ['{"n": 1}', "oops", '{"n": 2}'])
        tables.execute_sql(f"CREATE TABLE f (n INT) {options(topics, topic)}")
        with pytest.raises(HeadraceError, match="the record at offset 1 of partition 0"):
            values(tables, "SELECT n FROM f")
        given = options(topics, topic, bad__rows="skip")
        tables.execute_sql(f"CREATE TABLE s (n INT) {given}")
        assert values(tables, "SELECT n FROM s") == [(1,), (2,)]

    def test_bad_rows_and_bad_keys_can_be_kept(self, tables, topics, tmp_path):
        topic = topics.create()
        for key, value in (('{"k": 1}', '{"n": 1}'), ("no", '{"n": 2}'), ('{"k": 3}', "oops")):
            topics.send(topic, [value], key=key)
        keyed = {
            "key_format": "json", "key_fields": "k", "value_fields__include": "EXCEPT_KEY",
            "bad__rows": "dead-letter", "bad__rows_path": str(tmp_path / "bad"),
        }  # fmt: skip
        tables.execute_sql(f"CREATE TABLE t (k INT, n INT) {options(topics, topic, **keyed)}")
        assert values(tables, "SELECT k, n FROM t") == [(1, 1)]
        kept = "".join(file.read_text() for file in (tmp_path / "bad").rglob("*.json"))
        assert f"{topic}-0 at 1" in kept
        assert "oops" in kept


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_endless_query_goes_on_in_another_mode(topics, tmp_path):
    """Real time, micro-batches and real time again on one folder: counts go on where they were."""
    given = [topics.servers, topics.create(partitions=2), topics.create()]
    modes = ["real-time", "micro-batch", "real-time"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.kafka_table_jobs", str(tmp_path), *given, *modes],
        cwd=ROOT, text=True, capture_output=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [True, False, True]


class TestUpsertKafka:
    def test_the_last_row_of_a_key_counts_and_a_record_without_value_deletes(self, tables, topics):
        topic = topics.create()
        for key, value in ((1, "a"), (2, "b"), (1, "c"), (2, None)):
            text = None if value is None else json.dumps({"id": key, "v": value})
            topics.send(topic, [text], key=json.dumps({"id": key}))
        given = upsert(topics, topic)
        tables.execute_sql(
            f"CREATE TABLE u (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) {given}"
        )
        assert rows(tables, "SELECT id, v FROM u") == [("+I", 1, "c")]

    def test_a_count_by_key_is_kept_in_a_topic(self, tables, topics):
        topic = topics.create()
        given = upsert(topics, topic)
        tables.execute_sql(
            f"CREATE TABLE u (w STRING, n BIGINT, PRIMARY KEY (w) NOT ENFORCED) {given}"
        )
        tables.execute_sql(
            "INSERT INTO u SELECT w, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS t(w) GROUP BY w"
        ).wait()
        last = {each.key(): each.value() for each in topics.read(topic)}
        assert last == {b'{"w":"a"}': b'{"w":"a","n":2}', b'{"w":"b"}': b'{"w":"b","n":1}'}

    def test_orders_are_joined_with_the_rate_of_their_time(self, tables, topics):
        """A record without a value takes the last version away, as in Flink from its begin on."""
        rates, orders = topics.create(), topics.create()
        for moment, currency, rate in (
            *((1000, "A", 1), (1000, "B", 10), (2500, "B", 20), (3000, "A", 2), (4000, "B", None)),
            *((6000, "C", 5), (6500, "B", 30), (9000, "D", 0)),  # D only says what time it is
        ):
            text = None if rate is None else json.dumps({"currency": currency, "rate": rate})
            key = json.dumps({"currency": currency})
            topics.send(rates, [text], key=key, timestamp=moment)
        placed = ((1, "A", 2000), (2, "B", 2000), (3, "A", 3500), (4, "B", 5000), (5, "C", 5000))
        for id, currency, moment in (*placed, (6, "A", 7000), (7, "C", 7000), (8, "B", 7000)):
            order = json.dumps({"id": id, "currency": currency})
            topics.send(orders, [order], timestamp=moment)
        tables.execute_sql(
            f"""CREATE TABLE rates (
                currency STRING, rate INT, since TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
                WATERMARK FOR since AS since, PRIMARY KEY (currency) NOT ENFORCED
            ) {upsert(topics, rates)}"""
        )
        tables.execute_sql(
            f"""CREATE TABLE orders (
                id INT, currency STRING, placed TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
                WATERMARK FOR placed AS placed
            ) {options(topics, orders)}"""
        )
        found = values(
            tables,
            """SELECT o.id, r.rate FROM orders AS o
            LEFT JOIN rates FOR SYSTEM_TIME AS OF o.placed AS r ON o.currency = r.currency""",
        )
        assert found == [(1, 1), (2, 10), (3, 2), (4, None), (5, None), (6, 2), (7, 5), (8, 30)]


class TestSchemaRegistry:
    def test_records_of_changed_schemas_are_read_until_one_does_not_fit(self, tables, topics):
        topic = topics.create()
        with Registry() as registry:
            for fields in (
                {"id": "long", "name": "string"},
                {"extra": "int", "name": "string", "id": "int"},
                {"id": "string", "name": "string"},
            ):
                listed = [{"name": name, "type": type} for name, type in fields.items()]
                schema = {"type": "record", "name": "any", "fields": listed}
                registry.schemas.append(json.dumps(schema))
            given = options(
                topics, topic, format="avro-confluent", avro__confluent_url=registry.url
            )
            tables.execute_sql(f"CREATE TABLE t (id BIGINT, name STRING) {given}")
            marks = [b"\x00" + number.to_bytes(4, "big") for number in (1, 2, 3)]
            topics.send(topic, [marks[0] + b"\x02\x02a", marks[1] + b"\x0a\x02b\x04"])
            assert values(tables, "SELECT * FROM t") == [(1, "a"), (2, "b")]
            tables.execute_sql("INSERT INTO t VALUES (3, 'c')").wait()
            assert list(registry.subjects) == [f"{topic}-value"]
            self.copy_as_protobuf(tables, topics)
            topics.send(topic, [marks[2] + b"\x02c\x02c"])
            with pytest.raises(HeadraceError, match="the record at offset 3 of partition 0") as bad:
                values(tables, "SELECT * FROM t")
            assert "schema" in str(bad.value)

    def copy_as_protobuf(self, tables: TableEnvironment, topics: Topics) -> None:
        """From one binary format to the other."""
        name = "google.protobuf.timestamp_pb2.Timestamp"
        given = options(
            topics, topics.create(), format="protobuf", protobuf_message__class__name=name
        )
        tables.execute_sql(f"CREATE TABLE p (seconds BIGINT, nanos INT) {given}")
        tables.execute_sql("INSERT INTO p SELECT id, 10 * CAST(id AS INT) FROM t").wait()
        assert values(tables, "SELECT * FROM p") == [(1, 10), (2, 20), (3, 30)]


class TestErrors:
    def test_an_unknown_topic(self, tables, topics):
        tables.execute_sql(f"CREATE TABLE t (n INT) {options(topics, 'no-such-topic')}")
        with pytest.raises(InvalidArgument, match="has no topic 'no-such-topic'"):
            values(tables, "SELECT * FROM t")

    @pytest.mark.parametrize(
        ("columns", "changed", "message"),
        [
            ("n INT", {"scan_startup_mode": "group-offsets"}, "needs a group"),
            ("n INT", {"scan_startup_mode": "sometimes"}, "one of earliest-offset"),
            ("n INT", {"topic": ""}, "'topic' or a 'topic-pattern'"),
            ("n INT", {"key_format": "json"}, "belong together"),
            ("n INT", {"key_format": "json", "key_fields": "m"}, "no column of the table"),
            ("n INT, PRIMARY KEY (n) NOT ENFORCED", {}, "has no primary key"),
            ("n INT", {"connector": "upsert-kafka"}, "needs a primary key"),
            ("n INT", {"scan_strtup_mode": "x"}, "scan.startup.mode"),
            ("n INT", {"properties_bootstrap_servers": ""}, "properties.bootstrap.servers"),
        ],
    )
    def test_bad_options(self, tables, topics, columns, changed, message):
        changed = {"topic": "any", **changed}
        topic = changed.pop("topic")
        tables.execute_sql(f"CREATE TABLE t ({columns}) {options(topics, topic, **changed)}")
        with pytest.raises(InvalidArgument, match=message):
            tables.execute_sql("SELECT * FROM t")
