"""A table of MariaDB and its log, read without a job: types, exactness, and what is refused."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from headrace.connectors.cdc.capture import CapturedTable
from headrace.connectors.cdc.mysql import MySqlCapture, mysql_url
from headrace.connectors.cdc.source import ChangeReader
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.core.source import Split
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER
from headrace.errors import HeadraceError
from tests.servers.mariadb import PASSWORD, USER, MariaDB
from tests.servers.mariadb import mariadb as shared  # noqa: F401

T = {"id": lt.INT, "v": lt.STRING}
SPLIT = Split("table")


@pytest.fixture
def server(shared: MariaDB) -> Iterator[MariaDB]:  # noqa: F811
    """The server with a table of three rows."""
    shared.run("DROP TABLE IF EXISTS t", "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))")
    shared.run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    yield shared
    shared.run("DROP TABLE IF EXISTS t")


class Followed:
    """A table that is read; `reopen` goes on from where it is with another reader."""

    def __init__(
        self,
        server: MariaDB,
        columns: dict[str, LogicalType] | None = None,
        key: tuple[str, ...] = ("id",),
        startup: str = "initial",
        *,
        user: str = USER,
        table: str = "t",
        fetch_size: int = 2,
        **settings: Any,
    ):
        columns = columns or T
        self._table = CapturedTable(
            JdbcConnectionOptions(
                mysql_url("127.0.0.1", server.port, "test"), None, user, PASSWORD
            ),
            "test",
            None,
            table,
            tuple(columns),
            tuple(columns.values()),
            key,
            startup,
            fetch_size=fetch_size,
            settings={"server_ids": None, "zone": "UTC", **settings},
        )
        self.capture = MySqlCapture(self._table)
        self.place = self.capture.prepare().to_json()
        self._reader = ChangeReader(self.capture, ())

    def poll(self) -> list[tuple[Any, ...]]:
        rows, self.place = self._reader.poll(SPLIT, self.place)
        return rows

    def until(self, is_done: Callable[[list[Any]], bool]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        deadline = time.monotonic() + 60
        while not is_done(found):
            assert time.monotonic() < deadline, found
            found += self.poll()
        return found

    def next(self, count: int) -> list[tuple[Any, ...]]:
        return self.until(lambda found: len(found) >= count)

    def reopen(self) -> None:
        self.close()
        self.capture.check_going_on()
        self._reader = ChangeReader(self.capture, ())

    def close(self) -> None:
        self._reader.close()


def test_the_table_comes_first_then_what_was_committed(server: MariaDB) -> None:
    table = Followed(server)
    assert table.next(3) == [(INSERT, 1, "a"), (INSERT, 2, "b"), (INSERT, 3, "c")]
    server.run(
        "UPDATE t SET v = 'z' WHERE id = 1",
        "BEGIN",
        "INSERT INTO t VALUES (70, 'no')",
        "CREATE TEMPORARY TABLE other (i INT)",  # so that the log has what was rolled back
        "ROLLBACK",
        "BEGIN",
        "INSERT INTO t VALUES (4, 'd')",
        "SAVEPOINT s",
        "INSERT INTO t VALUES (71, 'no')",
        "CREATE TEMPORARY TABLE another (i INT)",
        "ROLLBACK TO s",
        "COMMIT",
        "DELETE FROM t WHERE id = 2",
    )
    assert table.next(4) == [(1, 1, "a"), (2, 1, "z"), (INSERT, 4, "d"), (DELETE, 2, "b")]
    table.close()


def test_prepared_transactions_show_when_they_are_committed(server: MariaDB) -> None:
    """Also to a reader that begins after they were prepared; those rolled back never show."""
    _prepare(server, "early", 5)
    table = Followed(server)
    table.next(3)
    _prepare(server, "late", 6)
    _prepare(server, "never", 7)
    server.run("XA COMMIT 'early'", "INSERT INTO t VALUES (8, 'f')")
    assert table.next(2) == [(INSERT, 5, "p"), (INSERT, 8, "f")]
    table.reopen()
    server.run("XA ROLLBACK 'never'", "XA COMMIT 'late'", "INSERT INTO t VALUES (9, 'g')")
    assert table.next(2) == [(INSERT, 6, "p"), (INSERT, 9, "g")]
    table.close()


def test_a_prepared_transaction_is_found_behind_rows_of_a_table_that_had_other_columns(
    server: MariaDB,
) -> None:
    server.run("DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (4)")
    server.run("ALTER TABLE t ADD COLUMN v VARCHAR(20)")
    _prepare(server, "early", 5)
    table = Followed(server, startup="latest-offset")
    server.run("XA COMMIT 'early'")
    assert table.next(1) == [(INSERT, 5, "p")]
    table.close()


def _prepare(server: MariaDB, name: str, key: int) -> None:
    server.run(
        f"XA START '{name}'",
        f"INSERT INTO t VALUES ({key}, 'p')",
        f"XA END '{name}'",
        f"XA PREPARE '{name}'",
    )


KINDS: dict[str, tuple[str, LogicalType, str]] = {
    "tiny": ("TINYINT", lt.TINYINT, "-128"),
    "utiny": ("TINYINT UNSIGNED", lt.SMALLINT, "255"),
    "y": ("YEAR", lt.INT, "2024"),
    "small": ("SMALLINT ZEROFILL", lt.INT, "65535"),
    "medium": ("MEDIUMINT", lt.INT, "-8388608"),
    "umedium": ("MEDIUMINT UNSIGNED", lt.INT, "16777215"),
    "i": ("INT", lt.INT, "-2147483648"),
    "ui": ("INT(12) UNSIGNED ZEROFILL", lt.STRING, "42"),
    "big": ("BIGINT", lt.BIGINT, "-9223372036854775808"),
    "ubig": ("BIGINT UNSIGNED", lt.DecimalType(20, 0), "18446744073709551615"),
    "truth": ("BOOLEAN", lt.BOOLEAN, "true"),
    "f": ("FLOAT", lt.FLOAT, "1.2345678"),
    "ftext": ("FLOAT", lt.STRING, "16777217.25"),
    "d": ("DOUBLE", lt.DOUBLE, "0.1"),
    "dec_": ("DECIMAL(38, 18)", lt.DecimalType(38, 18), "-12345678901234567890.123456789012345678"),
    "small_dec": ("DECIMAL(5, 5)", lt.DecimalType(5, 5), "-0.00012"),
    "bits": ("BIT(12)", lt.INT, "b'101000000001'"),
    "bit1": ("BIT(1)", lt.BOOLEAN, "b'1'"),
    "c": ("CHAR(7) CHARACTER SET latin1", lt.STRING, "'ü€ '"),
    "wide": ("CHAR(200) CHARACTER SET utf8mb4", lt.STRING, "'😀x'"),
    "v": ("VARCHAR(300) CHARACTER SET cp1251", lt.STRING, "'Привет'"),
    "ucs": ("VARCHAR(20) CHARACTER SET utf16", lt.STRING, "'aü😀'"),
    "t": ("TEXT CHARACTER SET utf8mb4", lt.STRING, "'\\'quoted\\' \\n 漢字'"),
    "b": ("BINARY(5)", lt.BYTES, "X'00ff00'"),
    "vb": ("VARBINARY(300)", lt.BYTES, "X'00ff2000'"),
    "bl": ("BLOB", lt.BYTES, "X'ff0102'"),
    "e": ("ENUM('one', 'zwölf')", lt.STRING, "'zwölf'"),
    "s": ("SET('a', 'b', 'c')", lt.STRING, "'a,c'"),
    "j": ("JSON", lt.STRING, '\'{"a": [1, 2.5, null, true], "ü": "x\\\\"y"}\''),
    "date_": ("DATE", lt.DATE, "'9999-12-31'"),
    "time_": ("TIME(3)", lt.TimeType(3), "'23:59:58.123'"),
    "long_time": ("TIME(2)", lt.STRING, "'-838:59:58.99'"),
    "moment": ("DATETIME(6)", lt.TimestampType(6), "'1000-01-01 00:00:00.000001'"),
    "moment1": ("DATETIME(1)", lt.STRING, "'2024-02-29 01:02:03.4'"),
    "ts": ("TIMESTAMP(6) NULL", lt.LocalZonedTimestampType(6), "'2024-06-01 12:00:00.5'"),
    "ts_zoned": ("TIMESTAMP NULL", lt.TimestampType(0), "'2024-06-01 12:00:00'"),
    "ts_text": ("TIMESTAMP(2) NULL", lt.STRING, "'2024-06-01 12:00:00.25'"),
}


def test_rows_of_all_types_are_the_same_in_the_table_and_in_the_log(server: MariaDB) -> None:
    made = ", ".join(f"{name} {kind}" for name, (kind, _, _) in KINDS.items())
    values = ", ".join(value for _, _, value in KINDS.values())
    server.run(
        "DROP TABLE IF EXISTS kinds",
        f"CREATE TABLE kinds (id INT PRIMARY KEY, unread GEOMETRY, {made})",
        "SET time_zone = '+00:00'",
        f"INSERT INTO kinds VALUES (1, NULL, {values})",
    )
    columns = {"id": lt.INT, **{name: type for name, (_, type, _) in KINDS.items()}}
    table = Followed(server, columns, table="kinds", zone="Europe/Berlin")
    (first,) = table.next(1)
    server.run(
        "SET time_zone = '+00:00'",
        f"INSERT INTO kinds VALUES (2, POINT(1, 2), {values})",
        "INSERT INTO kinds (id) VALUES (3)",
    )
    second, third = table.next(2)
    table.close()
    server.run("DROP TABLE kinds")
    assert dict(zip(KINDS, first[2:], strict=True)) == dict(zip(KINDS, second[2:], strict=True))
    assert third[2:] == (None,) * len(KINDS)
    found = dict(zip(KINDS, second[2:], strict=True))
    assert found["ubig"] == 18446744073709551615
    assert (found["y"], found["bits"], found["utiny"], found["ui"]) == (2024, 0xA01, 255, "42")
    assert (found["b"], found["vb"]) == (b"\0\xff\0\0\0", b"\0\xff \0")
    assert (found["wide"], found["v"], found["ucs"]) == ("😀x", "Привет", "aü😀")
    assert (found["e"], found["s"], found["long_time"]) == ("zwölf", "a,c", "-838:59:58.99")
    assert found["ts_text"] == "2024-06-01 14:00:00.25"
    noon = int(datetime(2024, 6, 1, 12, tzinfo=UTC).timestamp())
    assert found["ts"] == noon * 10**9 + 500_000_000
    assert found["ts_zoned"] == (noon + 2 * 3600) * 10**9


class Writer(threading.Thread):
    """Changes rows of a table with texts as keys as long as it may."""

    def __init__(self, server: MariaDB, seed: int):
        super().__init__(daemon=True)
        self._server, self._random = server, random.Random(seed)
        self._seed = seed
        self.ended = threading.Event()
        self.start()

    def run(self) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            with suppress(Exception):  # a deadlock: it is rolled back
                self._change(number)

    def _change(self, number: int) -> None:
        some = [f"k{self._random.randrange(300):03d}" for _ in range(3)]
        statements = [
            f"UPDATE t SET v = v + 1 WHERE k = '{some[0]}'",
            f"DELETE FROM t WHERE k = '{some[1]}'",
            f"INSERT INTO t VALUES ('{some[1]}', 'x', {number})",
            f"UPDATE t SET k = 'K{self._seed}{number}' WHERE k = '{some[2]}'",
        ]
        name = f"'x{self._seed}-{number}'"
        if number % 5 == 0:
            begin, end = [f"XA START {name}"], [f"XA END {name}", f"XA PREPARE {name}"]
            self._server.run(*begin, *statements, *end)
            self._server.run(f"XA {'ROLLBACK' if number % 10 else 'COMMIT'} {name}")
        else:
            self._server.run("BEGIN", *statements, "COMMIT" if number % 3 else "ROLLBACK")


def test_no_change_is_lost_or_doubled_between_the_table_and_the_log(server: MariaDB) -> None:
    """Readers come one after the other, in the middle of the table, while it changes: with
    transactions, some of them prepared, and keys of texts in the collation's order."""
    key = "k VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_german1_ci, p CHAR(1)"
    server.run("DROP TABLE t", f"CREATE TABLE t ({key}, v INT, PRIMARY KEY (k, p))")
    rows = ", ".join(f"('k{number:03d}', 'x', 0)" for number in range(300))
    server.run(f"INSERT INTO t VALUES {rows}")
    columns = {"k": lt.STRING, "p": lt.STRING, "v": lt.INT}
    writers = [Writer(server, seed) for seed in (1, 2)]
    found: Counter[Any] = Counter()
    try:
        table = Followed(server, columns, ("k", "p"), fetch_size=31)
        for _ in range(40):
            _count(found, table.poll())
            table.reopen()
    finally:
        for writer in writers:
            writer.ended.set()
            writer.join()
    server.run("INSERT INTO t VALUES ('last', 'x', 1)")
    while not found["last", "x", 1]:
        _count(found, table.poll())
    table.close()
    assert set(found.values()) <= {0, 1}
    assert sorted(+found) == sorted(server.rows("SELECT * FROM t"))


def _count(found: Counter[Any], rows: list[tuple[Any, ...]]) -> None:
    for kind, *row in rows:
        found[tuple(row)] += 1 if kind in (INSERT, UPDATE_AFTER) else -1


def test_a_column_that_is_added_or_moved_is_no_matter_one_that_is_dropped_is_told(
    server: MariaDB,
) -> None:
    table = Followed(server)
    table.until(lambda found: not table.place["table"])  # until then ALTER TABLE waits
    server.run(
        "INSERT INTO t VALUES (4, 'd')",
        "ALTER TABLE t ADD COLUMN new INT FIRST",
        "INSERT INTO t VALUES (0, 5, 'e')",
    )
    assert table.next(2) == [(INSERT, 4, "d"), (INSERT, 5, "e")]
    server.run("ALTER TABLE t DROP COLUMN v", "INSERT INTO t VALUES (0, 6)")
    with pytest.raises(HeadraceError, match="has lost the column 'v'") as lost:
        table.next(1)
    assert "hint:" in str(lost.value)
    table.close()


def test_a_value_that_does_not_fit_its_declared_type_is_told(server: MariaDB) -> None:
    server.run("DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY, v INT UNSIGNED)")
    table = Followed(server, {"id": lt.INT, "v": lt.INT})
    table.until(lambda found: not table.place["table"])
    server.run("INSERT INTO t VALUES (1, 5)")
    assert table.next(1) == [(INSERT, 1, 5)]
    server.run("INSERT INTO t VALUES (2, 4000000000)")
    with pytest.raises(HeadraceError, match=r"declared as INT .*4000000000"):
        table.next(1)
    table.close()


def test_rows_that_are_not_whole_and_statements_as_texts_are_refused(server: MariaDB) -> None:
    for setting, message in (
        ("binlog_row_image = MINIMAL", "does not tell column 'v'"),
        ("binlog_format = STATEMENT", "as a text"),
    ):
        table = Followed(server, startup="latest-offset")
        server.run(f"SET SESSION {setting}", "UPDATE t SET id = id + 10")
        with pytest.raises(HeadraceError, match=message):
            table.next(1)
        table.close()


def test_truncate_is_told_in_the_log_and_the_job_goes_on(
    server: MariaDB, caplog: pytest.LogCaptureFixture
) -> None:
    table = Followed(server, startup="latest-offset")
    with caplog.at_level(logging.WARNING, "headrace"):
        server.run("TRUNCATE TABLE t", "INSERT INTO t VALUES (9, 'x')")
        assert table.next(1) == [(INSERT, 9, "x")]
    assert "took rows away whole" in caplog.text
    table.close()


def test_where_it_begins(server: MariaDB) -> None:
    server.run("FLUSH BINARY LOGS")
    ((file, offset, *_),) = server.rows("SHOW MASTER STATUS")
    server.run("INSERT INTO t VALUES (11, 'x')")
    place = {"file": file, "offset": offset}
    table = Followed(server, startup="specific-offset", **place)
    assert table.next(1) == [(INSERT, 11, "x")]
    table.close()
    server.run("DROP TABLE IF EXISTS mark", "CREATE TABLE mark (i INT)")
    now = int(server.rows("SELECT UNIX_TIMESTAMP()")[0][0])
    while int(server.rows("SELECT UNIX_TIMESTAMP()")[0][0]) < now + 2:
        server.run("INSERT INTO mark VALUES (1)")
    server.run("INSERT INTO t VALUES (12, 'y')", "DROP TABLE mark")
    table = Followed(server, startup="timestamp", millis=(now + 1) * 1000)
    assert table.next(1) == [(INSERT, 12, "y")]
    table.close()
    with pytest.raises(HeadraceError, match=r"has no place nowhere\.000001:4"):
        Followed(server, startup="specific-offset", file="nowhere.000001", offset=4)


def test_a_log_that_is_purged_is_told(server: MariaDB) -> None:
    table = Followed(server)
    table.until(lambda found: not table.place["table"])
    table.close()
    server.run("FLUSH BINARY LOGS", "INSERT INTO t VALUES (4, 'd')", "FLUSH BINARY LOGS")
    ((file, *_),) = server.rows("SHOW MASTER STATUS")
    deadline = time.monotonic() + 60
    while server.rows("SHOW BINARY LOGS")[0][0] != file:  # one that is being sent is not purged
        assert time.monotonic() < deadline
        server.run(f"PURGE BINARY LOGS TO '{file}'")
    table.reopen()
    with pytest.raises(HeadraceError, match="is purged") as purged:
        table.next(1)
    assert "binlog_expire_logs_seconds" in str(purged.value)


def _with(server: MariaDB, name: str, value: str) -> Iterator[None]:
    ((_, before),) = server.rows(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
    server.run(f"SET GLOBAL {name} = '{value}'")
    yield
    server.run(f"SET GLOBAL {name} = '{before}'")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("binlog_format", "MIXED"),
        ("binlog_row_image", "MINIMAL"),
        ("binlog_row_metadata", "NO_LOG"),
    ],
)
def test_a_log_without_what_is_needed_is_refused(server: MariaDB, name: str, value: str) -> None:
    setting = _with(server, name, value)
    next(setting)
    try:
        with pytest.raises(HeadraceError, match=f"{name} is {value}") as wrong:
            Followed(server)
        assert f"SET GLOBAL {name}" in str(wrong.value)
    finally:
        next(setting, None)


def test_a_user_who_may_not_is_told_what_to_grant(server: MariaDB) -> None:
    server.run(
        "DROP USER IF EXISTS weak@'%'",
        f"CREATE USER weak@'%' IDENTIFIED BY '{PASSWORD}'",
    )
    for grant in ("SELECT ON test.*", "BINLOG MONITOR ON *.*", "REPLICATION SLAVE ON *.*"):
        if not grant.startswith("SELECT"):
            with pytest.raises(HeadraceError) as wrong:
                Followed(server, user="weak")
            assert f"GRANT {grant} TO weak" in str(wrong.value)
            assert PASSWORD not in str(wrong.value)
        server.run(f"GRANT {grant} TO weak@'%'")
    table = Followed(server, user="weak")
    assert len(table.next(3)) == 3
    table.close()
    server.run("DROP USER weak@'%'")


@pytest.mark.parametrize(
    ("made", "columns", "key", "message"),
    [
        ("nothing", T, ("id",), "is not there"),
        ("(id INT PRIMARY KEY)", T, ("id",), "has no column 'v'"),
        ("(id INT, v INT)", T, ("id",), "has no primary key"),
        ("(id INT PRIMARY KEY, v INT) ENGINE = MyISAM", T, ("id",), "of kind MyISAM"),
        ("(id INT PRIMARY KEY, v UUID)", T, ("id",), "of type uuid, which is not read"),
        ("(v ENUM('a') PRIMARY KEY)", {"v": lt.STRING}, ("v",), "in its key"),
        (
            "(id INT PRIMARY KEY, v DATETIME)",
            {"id": lt.INT, "v": lt.LocalZonedTimestampType(3)},
            ("id",),
            "declare TIMESTAMP here",
        ),
    ],
)
def test_a_table_that_cannot_be_followed_is_refused(
    server: MariaDB, made: str, columns: dict[str, LogicalType], key: tuple[str, ...], message: str
) -> None:
    server.run("DROP TABLE IF EXISTS odd")
    if made != "nothing":
        server.run(f"CREATE TABLE odd {made}")
    with pytest.raises(HeadraceError) as wrong:
        Followed(server, columns, key, table="odd")
    assert message in str(wrong.value)
    assert "hint:" in str(wrong.value)
    server.run("DROP TABLE IF EXISTS odd")
