"""No plan shows a password, whatever connector it was given to."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace import shim
from headrace.cli.main import app
from headrace.common import SimpleStringSchema, Types
from headrace.connectors.elasticsearch.emitters import ElasticsearchEmitter
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.elasticsearch import Elasticsearch7SinkBuilder
from headrace.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from headrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from headrace.table import EnvironmentSettings, ExplainDetail, TableEnvironment
from tests.unit.state.savepoints import make_savepoint, operator

PASSWORD = "hush-hush"
SERVER = f"'hostname' = 'h', 'username' = 'me', 'password' = '{PASSWORD}', 'table-name' = 't'"
TABLES = {
    "jdbc": f"'url' = 'jdbc:postgresql://h/db', 'table-name' = 't', 'username' = 'me', "
    f"'password' = '{PASSWORD}'",
    "jdbc in the address": f"'url' = 'jdbc:mysql://me:{PASSWORD}@h/db', 'table-name' = 't'",
    "elasticsearch-7": f"'hosts' = 'http://h:9200', 'index' = 'i', 'username' = 'me', "
    f"'password' = '{PASSWORD}'",
    "postgres-cdc": f"{SERVER}, 'database-name' = 'd', 'schema-name' = 's', 'slot.name' = 'x'",
    "mysql-cdc": f"{SERVER}, 'database-name' = 'd'",
}


def declared(name: str) -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql(
        "CREATE TABLE t (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH "
        f"('connector' = '{name.partition(' ')[0]}', {TABLES[name]})"
    )
    tables.execute_sql("CREATE TABLE other (id INT, name STRING) WITH ('connector' = 'blackhole')")
    tables.execute_sql(
        "CREATE TABLE made (id INT, name STRING, p AS PROCTIME()) WITH ('connector' = 'datagen')"
    )
    return tables


@pytest.mark.parametrize("name", TABLES)
def test_no_plan_of_a_query_shows_one(name: str) -> None:
    tables, shown = declared(name), ""
    details = ExplainDetail.CHANGELOG_MODE, ExplainDetail.JSON_EXECUTION_PLAN
    if not name.endswith("-cdc"):
        shown += tables.explain_sql("INSERT INTO t SELECT id, name FROM made", *details)
    if not name.startswith("elasticsearch"):
        shown += tables.explain_sql("SELECT name FROM t WHERE id = 1", *details)
        shown += tables.explain_sql("INSERT INTO other SELECT id, name FROM t", *details)
    if name.startswith("jdbc"):
        look_up = "SELECT * FROM made JOIN t FOR SYSTEM_TIME AS OF made.p ON made.id = t.id"
        shown += tables.explain_sql(look_up, *details)
    assert "Physical Execution Plan" in shown
    assert PASSWORD not in shown


def add_sinks(env: Any) -> list[object]:
    """Streams with what has a password; the connectors."""
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    options.with_url(f"jdbc:mysql://h/db?password={PASSWORD}").with_user_name("me")
    login = options.with_password(PASSWORD).build()
    rabbit = RMQConnectionConfig.Builder().set_uri(f"amqp://me:{PASSWORD}@h:1/v").build()
    row = Types.ROW([Types.STRING()])
    documents = Elasticsearch7SinkBuilder().set_hosts(["h"]).set_connection_username("me")
    documents.set_connection_password(PASSWORD)
    documents.set_emitter(ElasticsearchEmitter.static_index("i"))
    source = RMQSource(rabbit, "in", True, SimpleStringSchema())
    made: list[Any] = [
        JdbcSink.sink("INSERT INTO t VALUES (?)", row, login),
        JdbcSink.exactly_once_sink("INSERT INTO t VALUES (?)", row, login),
        RMQSink(rabbit, "out", SimpleStringSchema()),
    ]
    words = env.add_source(source)
    for sink in made[:2]:
        words.map(lambda word: word, row).add_sink(sink)
    words.add_sink(made[2])
    words.sink_to(documents.build())
    return [*made, source, documents.build(), login, rabbit]


def test_no_plan_of_a_stream_shows_one() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    made = add_sinks(env)
    shown = env.explain() + env.get_execution_plan()
    assert "Sink" in shown
    assert PASSWORD not in shown + "".join(map(repr, made))


SCRIPT = """
from tests.unit.connectors.test_passwords import add_sinks, declared
from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment

{job}
"""
STREAM = """
env = StreamExecutionEnvironment.get_execution_environment()
add_sinks(env)
env.from_collection([1], Types.LONG()).key_by(lambda n: n).reduce(max).uid("function").print()
env.execute()
"""


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    yield make_savepoint(tmp_path / "saved", operators=[operator("function", max_parallelism=64)])
    shim.uninstall()


@pytest.mark.parametrize("name", ["streams", *TABLES])
def test_what_becomes_of_state_is_told_without_one(name: str, saved: Path, tmp_path: Path) -> None:
    query = "INSERT INTO t SELECT id, name FROM made"
    if name.endswith("-cdc"):
        query = "INSERT INTO other SELECT id, name FROM t"
    job = f"declared({name!r}).execute_sql({query!r})"
    script = tmp_path / "job.py"
    script.write_text(SCRIPT.format(job=STREAM if name == "streams" else job))
    told = CliRunner().invoke(app, ["plan", "--json", str(saved), str(script)])
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert "function" in {row["operator"] for row in rows}, told.output
    assert PASSWORD not in told.output
