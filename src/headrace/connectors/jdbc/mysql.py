"""MariaDB and MySQL, through PyMySQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.connectors.jdbc.databases import (
    Cause,
    ColumnNote,
    Database,
    Trouble,
    missing_driver,
    shut_down,
)
from headrace.connectors.jdbc.tls import is_encrypted, mysql_settings
from headrace.connectors.tls_errors import is_of_tls

_BY_CODE = {
    **dict.fromkeys(
        (
            0,
            1040,
            1053,
            1077,
            1079,
            1080,
            1152,
            1158,
            1159,
            1160,
            1161,
            1203,
            1317,
            1927,
            2002,
            2003,
            2006,
            2013,
            2014,
            2055,
            4031,
        ),
        Cause.AWAY,
    ),
    **dict.fromkeys((1205, 1213, 1614), Cause.BUSY),
    **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1251, 1698), Cause.LOGIN),
    2026: Cause.TLS,
    1049: Cause.NO_DATABASE,
    1146: Cause.NO_TABLE,
    1054: Cause.NO_COLUMN,
    1062: Cause.DUPLICATE,
    1048: Cause.CONSTRAINT,
    1451: Cause.CONSTRAINT,
    1452: Cause.CONSTRAINT,
    4025: Cause.CONSTRAINT,
}
_CONNECT_MS = 10_000
_SYSTEM_DATABASES = ("information_schema", "mysql", "performance_schema", "sys")
_NO_TLS = 2026


def load_pymysql() -> Any:
    try:
        import pymysql
    except ImportError:
        raise missing_driver("MySQL and MariaDB", "PyMySQL") from None
    return pymysql


class MySQL(Database):
    label = "MySQL"
    quotes = "`"

    def __init__(self, options: Any):
        super().__init__(options)
        if self.address.scheme == "mariadb":
            self.label = "MariaDB"

    def connect(self, application: str = "headrace") -> Any:
        given = self.address.properties
        settings = mysql_settings(given)
        if "socketTimeout" in given:
            settings["read_timeout"] = max(1, int(given["socketTimeout"]) // 1000)
        driver = load_pymysql()
        found = driver.connect(
            host=self.address.host,
            port=self.address.port,
            user=self.user,
            password=self.password or "",
            database=self.address.database or None,
            connect_timeout=max(1, int(given.get("connectTimeout", _CONNECT_MS)) // 1000),
            charset="utf8mb4",
            program_name=application,
            init_command="SET SESSION time_zone = '+00:00'",
            **settings,
        )
        if "ssl" in settings and not is_encrypted(found):
            found.close()
            raise driver.err.OperationalError(_NO_TLS, "the server does not support TLS")
        return found

    def is_driver_error(self, error: BaseException) -> bool:
        return isinstance(error, load_pymysql().err.Error)

    def trouble(self, error: Any) -> Trouble:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else None
        text = str(error.args[1]) if len(error.args) > 1 else str(error)
        text = next(iter(text.splitlines()), "") or "the connection is closed"
        if code is None:
            return Trouble(Cause.OTHER, text)
        if is_of_tls(getattr(error, "original_exception", None)):
            return Trouble(Cause.TLS, text)
        return Trouble(_BY_CODE.get(code, Cause.OTHER), text)

    def stream_cursor(self, connection: Any, fetch_size: int) -> Any:
        return connection.cursor(load_pymysql().cursors.SSCursor)

    def drop(self, cursor: Any) -> None:
        # Closed, or forgotten, it would read all rows that are left, if need be of a connection
        # that is no more.
        if cursor._result is not None:
            cursor._result.unbuffered_active = False
        cursor.connection = None

    def upsert(self, table: str, columns: Sequence[str], key: Sequence[str]) -> str:
        changed = [self.quote(name) for name in columns if name not in key]
        changed = changed or [self.quote(key[0])]
        updates = ", ".join(f"{name} = VALUES({name})" for name in changed)
        return f"{self.insert(table, columns)} ON DUPLICATE KEY UPDATE {updates}"

    # What is there.

    def commit_each(self, connection: Any) -> None:
        connection.autocommit(True)

    def cut(self, connection: Any) -> None:
        shut_down(connection._sock.fileno())

    def databases(self, connection: Any) -> list[str]:
        found = self._rows(connection, "SHOW DATABASES")
        return sorted(name for (name,) in found if name not in _SYSTEM_DATABASES)

    def tables(self, connection: Any) -> list[str]:
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
        return sorted(name for (name,) in self._rows(connection, query))

    def columns(self, connection: Any, table: str) -> list[ColumnNote]:
        found = self._rows(
            connection,
            "SELECT column_name, data_type, is_nullable = 'YES', character_maximum_length, "
            "numeric_precision, numeric_scale, datetime_precision, column_type "
            "FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
            "ORDER BY ordinal_position",
            (table,),
        )
        return [
            ColumnNote(
                name,
                "bit1" if shown in ("tinyint(1)", "bit(1)") else kind,
                bool(nullable),
                length,
                precision,
                scale,
                fraction,
                "unsigned" in shown,
            )
            for name, kind, nullable, length, precision, scale, fraction, shown in found
        ]

    def primary_key(self, connection: Any, table: str) -> tuple[str | None, list[str]]:
        found = self._rows(
            connection,
            "SELECT column_name FROM information_schema.key_column_usage WHERE constraint_name = "
            "'PRIMARY' AND table_schema = DATABASE() AND table_name = %s ORDER BY ordinal_position",
            (table,),
        )
        return ("PRIMARY" if found else None), [column for (column,) in found]

    def _rows(self, connection: Any, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(query, tuple(values))
            return list(cursor.fetchall())
