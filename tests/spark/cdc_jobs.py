"""A job from a table of a database to Kafka that is killed and started again.

python -m tests.spark.cdc_jobs <folder> <connector> <database's port> <Kafka's servers> <topic>
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from tests.conftest import ROOT
from tests.servers.postgres import PASSWORD, USER

FEW = {"scan_snapshot_fetch_size": "40"}
OF_CONNECTOR = {
    "postgres-cdc": lambda name: {"schema-name": "public", "slot.name": name},
    "mysql-cdc": lambda name: {},
}


def followed(connector: str, port: int, name: str, columns: str, **more: str) -> str:
    """CREATE TABLE of a table that is followed; a slot has its name."""
    options = {
        "connector": connector,
        "hostname": "127.0.0.1",
        "port": str(port),
        "username": USER,
        "password": PASSWORD,
        "database-name": "test",
        "table-name": name,
        **OF_CONNECTOR[connector](name),
        **{key.replace("__", "-").replace("_", "."): value for key, value in more.items()},
    }
    given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items() if value)
    return f"CREATE TABLE {name} ({columns}) WITH ({given})"


def begin(folder: Path, connector: str, port: int, servers: str, topic: str, **environ: str) -> Any:
    """One life of the program, in a session of its own."""
    given = [str(folder), connector, str(port), servers, topic]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.cdc_jobs", *given],
        cwd=ROOT,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def main() -> None:
    folder, connector, port, servers, topic = sys.argv[1:]
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    settings.set_string("execution.checkpointing.interval", "100ms")
    settings.set_string("parallelism.default", "1")
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "99")
    settings.set_string("restart-strategy.fixed-delay.delay", "0s")
    chosen = EnvironmentSettings.new_instance().in_streaming_mode()
    tables = TableEnvironment.create(chosen.with_configuration(settings).build())
    columns = "id INT, v INT, PRIMARY KEY (id) NOT ENFORCED"
    tables.execute_sql(followed(connector, int(port), "killed", columns, **FEW))
    tables.execute_sql(f"""
        CREATE TABLE output (id INT, v INT) WITH (
            'connector' = 'kafka', 'topic' = '{topic}', 'format' = 'debezium-json',
            'properties.bootstrap.servers' = '{servers}',
            'sink.delivery-guarantee' = 'exactly-once',
            'sink.transactional-id-prefix' = '{topic}'
        )
    """)
    tables.execute_sql("INSERT INTO output SELECT id, v FROM killed").wait()


if __name__ == "__main__":
    main()
