"""What Kafka's own console tools write is read, and they read what is written."""

from __future__ import annotations

import pytest

from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.kafka_tools import consume, produce

COLUMNS = "k STRING, headers MAP<STRING, BYTES> METADATA, v STRING"


def create(tables: TableEnvironment, name: str, servers: str, topic: str) -> None:
    tables.execute_sql(
        f"""CREATE TABLE {name} ({COLUMNS}) WITH (
            'connector' = 'kafka', 'topic' = '{topic}',
            'properties.bootstrap.servers' = '{servers}',
            'key.format' = 'raw', 'key.fields' = 'k',
            'format' = 'raw', 'value.fields-include' = 'EXCEPT_KEY',
            'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
            'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{topic}'
        )"""
    )


@pytest.mark.slow
def test_keys_and_headers_pass_from_the_one_to_the_other(broker: KafkaBroker) -> None:
    topics = Topics(broker.bootstrap_servers)
    first, second = topics.create(partitions=2), topics.create()
    lines = ["from:shop,kind:new\tann\tone", "from:bank\tbob\ttwo", "from:shop\tann\tthree"]
    produce(topics.servers, first, lines, "parse.headers=true", "parse.key=true")
    # What was taken back, before and after, is for nobody to see.
    topics.transaction(second, ["taken back"], ends="abort")
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    create(tables, "written_by_kafka", topics.servers, first)
    create(tables, "read_by_kafka", topics.servers, second)
    tables.execute_sql(
        "INSERT INTO read_by_kafka SELECT k, headers, UPPER(v) FROM written_by_kafka"
    ).wait()
    topics.transaction(second, ["taken back"], ends="abort")
    found = consume(topics.servers, second, 3, "print.headers=true", "print.key=true")
    wanted = ["from:shop,kind:new\tann\tONE", "from:bank\tbob\tTWO", "from:shop\tann\tTHREE"]
    assert sorted(found) == sorted(wanted)
