"""Kafka without a broker: what is refused when a job is planned, and what is never shown."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import SimpleStringSchema, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.errors import InvalidGraph
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
