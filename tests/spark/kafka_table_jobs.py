"""An endless query from topic to topic that is stopped, and goes on in another mode.

python -m tests.spark.kafka_table_jobs <folder> <Kafka's servers> <input> <output> <mode> …
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.testing.servers.kafka_topics import Topics
from tests.spark.real_time_parts import flowed, wait_for

RECORDS, KEYS = 200, 5


def last_counts(topics: Topics, output: str) -> dict[str, tuple[int, int]]:
    """By key: what the last of its records says."""
    found = {}
    for message in topics.read(output):
        row = json.loads(message.value())
        found[row["k"]] = row["n"], row["total"]
    return found


def counts(lives: int) -> dict[str, tuple[int, int]]:
    """What they are to say after so many times the same records."""
    every = range(RECORDS)
    return {
        f"key-{key}": (lives * RECORDS // KEYS, lives * sum(n for n in every if n % KEYS == key))
        for key in range(KEYS)
    }


def live(folder: Path, topics: Topics, input: str, output: str, mode: str) -> TableEnvironment:
    settings = Configuration()
    settings.set_string("headrace.stream.mode", mode)
    settings.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    settings.set_string("execution.checkpointing.interval", "100ms")
    settings.set_string("parallelism.default", "2")
    chosen = EnvironmentSettings.new_instance().in_streaming_mode()
    tables = TableEnvironment.create(chosen.with_configuration(settings).build())
    servers = f"'properties.bootstrap.servers' = '{topics.servers}'"
    tables.execute_sql(f"""
        CREATE TABLE input (k STRING, v INT) WITH (
            'connector' = 'kafka', 'topic' = '{input}', 'format' = 'json', {servers},
            'scan.startup.mode' = 'earliest-offset'
        )
    """)
    tables.execute_sql(f"""
        CREATE TABLE output (k STRING, n BIGINT, total BIGINT, PRIMARY KEY (k) NOT ENFORCED)
        WITH (
            'connector' = 'upsert-kafka', 'topic' = '{output}', {servers},
            'key.format' = 'json', 'value.format' = 'json',
            'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{output}'
        )
    """)
    return tables


def main() -> None:
    folder, topics = Path(sys.argv[1]), Topics(sys.argv[2])
    input, output, *modes = sys.argv[3:]
    ways = []
    for number, mode in enumerate(modes, start=1):
        tables = live(folder, topics, input, output, mode)
        query = "INSERT INTO output SELECT k, COUNT(*), SUM(v) FROM input GROUP BY k"
        client = tables.execute_sql(query).get_job_client()
        assert client is not None
        rows = ({"k": f"key-{n % KEYS}", "v": n} for n in range(RECORDS))
        topics.send(input, map(json.dumps, rows))
        wanted = counts(number)
        wait_for(
            lambda wanted=wanted: last_counts(topics, output) == wanted, f"{mode} has not told all"
        )
        client.cancel().result()
        ways.append(flowed(folder))
    print(json.dumps(ways))


if __name__ == "__main__":
    main()
