"""Addresses, statements, options and conditions of JDBC, without a server."""

from __future__ import annotations

import logging
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.connectors.jdbc import sessions
from headrace.connectors.jdbc.addresses import MYSQL, POSTGRESQL, parse_address
from headrace.connectors.jdbc.conditions import write_condition
from headrace.connectors.jdbc.databases import ColumnNote, open_database
from headrace.connectors.jdbc.describing import _of_mysql, _of_postgresql
from headrace.connectors.jdbc.options import JdbcConnectionOptions, JdbcExecutionOptions
from headrace.connectors.jdbc.scanning import Partitions
from headrace.connectors.jdbc.sessions import Session
from headrace.connectors.jdbc.sink import JdbcSink
from headrace.connectors.jdbc.statements import parse_statement
from headrace.connectors.jdbc.transactions import TransactionName, _read_name
from headrace.connectors.jdbc.values import bind_values
from headrace.connectors.jdbc.work import ChangesWork
from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Column, Literal, ScalarFunction
from headrace.errors import (
    InvalidArgument,
    SourceUnavailable,
    TypeMismatch,
    Unsupported,
)

POSTGRES = JdbcConnectionOptions("jdbc:postgresql://h/db", None, "me", "s3cret")
PAIR = Types.ROW([Types.INT(), Types.STRING()])


@pytest.mark.parametrize(
    ("text", "shown", "properties"),
    [
        ("jdbc:postgresql://h/db", "jdbc:postgresql://h:5432/db", {}),
        ("jdbc:mysql://h:1/db?useSSL=false", "jdbc:mysql://h:1/db", {"useSSL": "false"}),
        (
            "jdbc:mariadb://a%40b:s3cret@[::1]:9/d",
            "jdbc:mariadb://[::1]:9/d",
            {"user": "a@b", "password": "s3cret"},
        ),
        ("jdbc:postgresql:///db", "jdbc:postgresql://localhost:5432/db", {}),
    ],
)
def test_addresses(text: str, shown: str, properties: dict[str, str]) -> None:
    found = parse_address(text)
    assert str(found) == shown
    assert dict(found.properties) == properties
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("postgresql://u:s3cret@h/db", "begins with 'jdbc:'"),
        ("jdbc:oracle:thin:me/s3cret@h", "no driver for addresses that begin with 'jdbc:oracle:'"),
        ("jdbc:mysql:u:s3cret@h", "'//' and a host are missing"),
        ("jdbc:mysql://u:s3cret@h:port/db", "'port' is no port"),
        ("jdbc:postgresql://a,b/db", "several hosts"),
        (None, "begins with 'jdbc:'"),
    ],
)
def test_addresses_that_mean_nothing(text: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message) as raised:
        parse_address(text)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "sql", "text", "values"),
    [
        (POSTGRESQL, "INSERT INTO t VALUES (?, '?''%')", "INSERT INTO t VALUES (%s, '?''%%')", 1),
        (POSTGRESQL, "SELECT '\\', ? -- ?", "SELECT '\\', %s -- ?", 1),
        (POSTGRESQL, "SELECT $a$ ? $a$, j ?? 'k', 5 % ?", "SELECT $a$ ? $a$, j ? 'k', 5 %% %s", 1),
        (MYSQL, "SELECT '\\'?', `?`, \"?\", ?, /* ? */ ?", None, 2),
        (MYSQL, "SELECT ? # it's ?\n, ?", "SELECT %s # it's ?\n, %s", 2),
        (MYSQL, "SELECT 5--?, ? -- ?", "SELECT 5--%s, %s -- ?", 2),
        (POSTGRESQL, "SELECT j #> ?, j #>> '{a}', ?", "SELECT j #> %s, j #>> '{a}', %s", 2),
        (POSTGRESQL, "SELECT E'\\'?', ?, e'a\\\\', ?", "SELECT E'\\'?', %s, e'a\\\\', %s", 2),
        (POSTGRESQL, "SELECT E'\\'?''?', name'\\', ?", "SELECT E'\\'?''?', name'\\', %s", 1),
    ],
)
def test_statements(kind: str, sql: str, text: str | None, values: int) -> None:
    found = parse_statement(sql, kind)
    assert found.values == values
    assert text is None or found.text == text


def test_an_insert_of_many_rows() -> None:
    one = parse_statement("INSERT INTO t (a, b) VALUES (?, ?) ON CONFLICT DO NOTHING", POSTGRESQL)
    many = "INSERT INTO t (a, b) VALUES (%s, %s), (%s, %s) ON CONFLICT DO NOTHING"
    assert one.of_rows(2) == many
    others = (
        "INSERT INTO t VALUES (?, now())",
        "INSERT INTO t VALUES (?) RETURNING ?",
        "CALL p(?)",
    )
    for other in others:
        assert parse_statement(other, POSTGRESQL).of_rows(2) is None


def test_a_statement_takes_as_many_values_as_a_row_has() -> None:
    with pytest.raises(InvalidArgument, match=r"3 places for values .* 2 fields"):
        JdbcSink.sink("INSERT INTO t VALUES (?, ?, ?)", PAIR, POSTGRES)
    with pytest.raises(TypeMismatch, match="the type of a row"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", Types.INT(), POSTGRES)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match="have no arrays"):
        bind_values([Types.LIST(Types.INT())], MYSQL)
    with pytest.raises(TypeMismatch, match="a row of 1 fields"):
        bind_values([Types.INT(), Types.INT()], MYSQL)(Row(1))


def test_options_say_what_was_given_and_hide_the_password() -> None:
    built = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url("jdbc:postgresql://h/db?password=s3cret")
        .with_driver_name("org.postgresql.Driver")
        .with_user_name("me")
        .with_password("s3cret")
        .build()
    )
    assert built.get_user_name() == "me"
    assert built.get_password() == "s3cret"
    assert "s3cret" not in repr(built)
    execution = JdbcExecutionOptions.defaults()
    assert execution.get_batch_size() == 5000
    assert execution.get_batch_interval_ms() == 0
    assert execution.get_max_retries() == 3
    with pytest.raises(InvalidArgument, match="at least 0, not -1"):
        JdbcExecutionOptions.builder().with_batch_size(-1)
    with pytest.raises(InvalidArgument, match="no address"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()


@pytest.mark.parametrize(
    ("url", "module", "package"),
    [
        ("jdbc:postgresql://h/db", "psycopg", "psycopg"),
        ("jdbc:mysql://h/db", "pymysql", "PyMySQL"),
    ],
)
def test_a_missing_package(
    monkeypatch: pytest.MonkeyPatch, url: str, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Unsupported, match=rf"{package}: install headrace\[jdbc\]"):
        open_database(JdbcConnectionOptions(url)).connect()


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_is_away(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    pauses: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append)
    monkeypatch.setattr(sessions, "time", clock)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else is given the port as long as this one has it
        url = f"jdbc:{scheme}://127.0.0.1:{silent.getsockname()[1]}/db"
        session = Session(open_database(JdbcConnectionOptions(url, None, "me", "s3cret", 1)))
        with caplog.at_level(logging.WARNING), pytest.raises(SourceUnavailable) as raised:
            session.attempt(lambda connection: None, "cannot write to")
    assert f"cannot connect to {'PostgreSQL' if scheme == 'postgresql' else 'MySQL'}" in str(
        raised.value
    )
    assert pauses == pytest.approx([0.1, 0.2, 0.4])  # of one second
    assert "does not answer" in caplog.text
    assert "s3cret" not in str(raised.value) + caplog.text


def test_names_of_transactions() -> None:
    name = TransactionName("0123456789abcdef", 3, 12, 1, "89abcdef")
    assert _read_name(str(name)) == name
    assert len(str(name)) < 64
    assert _read_name("headrace-of-somebody-else") is None


def test_of_the_changes_of_a_key_the_last_counts() -> None:
    done: list[tuple[str, list[Any]]] = []

    class Cursor:
        def executemany(self, text: str, rows: list[Any]) -> None:
            done.append((text, [tuple(row) for row in rows]))

    write, delete = parse_statement("W ?, ?", POSTGRESQL), parse_statement("D ?", POSTGRESQL)
    work = ChangesWork(write, delete, (0,), tuple)
    changes = [(0, 1, "a"), (1, 1, "a"), (2, 1, "b"), (0, 2, "c"), (3, 2, "c"), (3, 3, "d")]
    changes += [(0, 3, "e")]
    work.apply(Cursor(), [work.bind(change) for change in changes])
    assert done == [("D %s", [(2,)]), ("W %s, %s", [(1, "b"), (3, "e")])]


def test_partitions_share_all_values() -> None:
    assert Partitions("id", 3, 0, 9).ranges() == [(None, 4), (4, 8), (8, None)]
    assert Partitions("id", 5, 1, 2).ranges() == [(None, 2), (2, None)]
    assert Partitions("id", 1, 1, 2).ranges() == [(None, None)]


def _call(name: str, *arguments: Any) -> Call:
    return Call(lt.BOOLEAN, ScalarFunction(name=name, meaning=lambda: None), arguments)


@pytest.mark.parametrize(
    ("name", "column", "value", "text"),
    [
        ("GREATER_THAN", lt.INT, 5, '"c" > ?'),
        ("NOT_EQUALS", lt.STRING, "a", None),
        ("EQUALS", lt.STRING, "a", '"c" = ?'),
        ("LESS_THAN", lt.DOUBLE, 1.0, None),
        ("EQUALS", lt.INT, None, None),
    ],
)
def test_conditions(name: str, column: Any, value: Any, text: str | None) -> None:
    condition = _call(name, Column(column, 0), Literal(column, value))
    found = write_condition(condition, ["c"], open_database(POSTGRES))
    assert found == (None if text is None else (text, [value]))


def test_a_condition_with_its_sides_turned() -> None:
    condition = _call("GREATER_THAN_OR_EQUAL", Literal(lt.DATE, 1), Column(lt.DATE, 0))
    found = write_condition(condition, ["c"], open_database(POSTGRES))
    assert found is not None
    assert found[0] == '"c" <= ?'
    assert str(found[1][0]) == "1970-01-02"


def test_types_of_columns() -> None:
    def note(type: str, **more: Any) -> ColumnNote:
        return ColumnNote("c", type, True, **more)

    assert str(_of_postgresql(note("_int4"))) == "ARRAY<INT>"
    assert str(_of_postgresql(note("numeric"))) == "DECIMAL(38, 18)"
    assert str(_of_postgresql(note("timestamptz", fraction=3))) == "TIMESTAMP_LTZ(3)"
    assert _of_postgresql(note("point")) is None
    assert str(_of_mysql(note("bigint", unsigned=True))) == "DECIMAL(20, 0)"
    assert str(_of_mysql(note("int", unsigned=True))) == "BIGINT"
    assert str(_of_mysql(note("bit1"))) == "BOOLEAN"
