"""Jars of a PyFlink program: those of built-in connectors are passed over, others refused."""

from __future__ import annotations

import logging

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import Unsupported

BUILT_IN = {
    "flink-sql-connector-kafka-4.0.1-2.0.jar": "headrace[kafka]",
    "flink-connector-jdbc-3.3.0-1.20.jar": "headrace[jdbc]",
    "postgresql-42.7.4.jar": "headrace[jdbc]",
    "flink-sql-connector-rabbitmq-3.0.1-1.17.jar": "headrace[rabbitmq]",
    "flink-sql-avro-2.3.0.jar": "headrace[avro]",
    "flink-sql-protobuf-2.3.0.jar": "headrace[protobuf]",
    "flink-sql-connector-postgres-cdc-3.4.0.jar": "headrace[jdbc]",
    "flink-sql-connector-mysql-cdc-3.4.0.jar": "headrace[jdbc]",
    "flink-sql-connector-elasticsearch7-4.0.0-2.0.jar": "part of headrace",
    "flink-sql-connector-opensearch-2.0.0-1.19.jar": "part of headrace",
    "flink-sql-orc-2.3.0.jar": "part of headrace",
    "flink-connector-base-2.3.0.jar": "part of headrace",
    "flink-json-2.3.0.jar": "part of headrace",
}


@pytest.mark.parametrize("jar", BUILT_IN)
def test_a_jar_of_a_built_in_connector_is_passed_over_with_the_reason(jar, caplog):
    env = StreamExecutionEnvironment.get_execution_environment()
    with caplog.at_level(logging.WARNING, "headrace"):
        env.add_jars(f"file:///opt/flink/lib/{jar}")
    [said] = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"{jar} is not used: no jar is needed here")
    assert BUILT_IN[jar] in said


def test_any_other_jar_is_refused():
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(Unsupported, match=r"my-functions\.jar cannot be used") as failure:
        env.add_jars("file:///lib/flink-json-2.3.0.jar", "file:///lib/my-functions.jar")
    assert "test_jars.py" in str(failure.value)
    assert "from-pyflink-jars.md" in str(failure.value)
