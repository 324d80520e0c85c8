"""PostgreSQL, through psycopg."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from headrace.connectors.jdbc.databases import (
    Cause,
    ColumnNote,
    Database,
    Trouble,
    missing_driver,
    shut_down,
)
from headrace.connectors.jdbc.tls import postgresql_settings

_BY_STATE = {
    "40001": Cause.BUSY,
    "40P01": Cause.BUSY,
    "55P03": Cause.BUSY,
    "42P01": Cause.NO_TABLE,
    "3F000": Cause.NO_TABLE,
    "42703": Cause.NO_COLUMN,
    "23505": Cause.DUPLICATE,
    "3D000": Cause.NO_DATABASE,
    "42501": Cause.LOGIN,
    "53300": Cause.AWAY,
}
_BY_CLASS = {"08": Cause.AWAY, "57": Cause.AWAY, "28": Cause.LOGIN, "23": Cause.CONSTRAINT}
_STARTING = ("starting up", "shutting down", "in recovery mode", "too many clients", "not yet")
_CONNECT_SECONDS = 10
_SYSTEM_DATABASES = ("template0", "template1")
_KEEPALIVE = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10}
_NOT_TRUSTED = ("certificate", "server does not support SSL", "wrong version number")
_AS_THEY_ARE = ("sslrootcert", "sslcert", "sslkey", "options", "replication")


def load_psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise missing_driver("PostgreSQL", "psycopg") from None
    return psycopg


class PostgreSQL(Database):
    label = "PostgreSQL"
    quotes = '"'

    def connect(self, application: str = "headrace") -> Any:
        given = self.address.properties
        settings: dict[str, Any] = {name: given[name] for name in _AS_THEY_ARE if name in given}
        settings |= postgresql_settings(given)
        if "currentSchema" in given:
            search = f"-c search_path={given['currentSchema']}"
            settings["options"] = f"{settings.get('options', '')} {search}".strip()
        found = load_psycopg().connect(
            host=self.address.host,
            port=self.address.port,
            dbname=self.address.database or self.user,
            user=self.user,
            password=self.password,
            connect_timeout=int(given.get("connectTimeout", _CONNECT_SECONDS)),
            application_name=given.get("ApplicationName", application),
            **_KEEPALIVE,
            **settings,
        )
        found.prepare_threshold = 2
        _keep_json_as_text(found)
        return found

    def is_driver_error(self, error: BaseException) -> bool:
        return isinstance(error, load_psycopg().Error)

    def trouble(self, error: Any) -> Trouble:
        state = error.sqlstate
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = next(iter(lines), type(error).__name__)
        if state is None:
            return _unconnected(error, text, lines)
        detail = error.diag.message_detail
        text = f"{error.diag.message_primary or text}{f' ({detail})' if detail else ''}"
        if "prepared transactions are disabled" in text or "maximum number of prepared" in text:
            return Trouble(Cause.NO_PREPARED_TRANSACTIONS, text)
        cause = _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or Cause.OTHER
        return Trouble(cause, text)

    def refuses_many(self, error: BaseException) -> bool:
        return getattr(error, "sqlstate", None) == "21000"

    def stream_cursor(self, connection: Any, fetch_size: int) -> Any:
        cursor = connection.cursor(name="headrace_scan")
        cursor.itersize = fetch_size
        return cursor

    def drop(self, cursor: Any) -> None:
        with suppress(load_psycopg().Error):  # the connection is lost
            cursor.close()

    def upsert(self, table: str, columns: Sequence[str], key: Sequence[str]) -> str:
        names = ", ".join(map(self.quote, key))
        changed = [self.quote(name) for name in columns if name not in key]
        action = "DO NOTHING"
        if changed:
            action = "DO UPDATE SET " + ", ".join(f"{name} = EXCLUDED.{name}" for name in changed)
        return f"{self.insert(table, columns)} ON CONFLICT ({names}) {action}"

    # What is there.

    def commit_each(self, connection: Any) -> None:
        connection.autocommit = True

    def cut(self, connection: Any) -> None:
        shut_down(connection.fileno())

    def databases(self, connection: Any) -> list[str]:
        found = connection.execute("SELECT datname FROM pg_database ORDER BY datname")
        return [name for (name,) in found if name not in _SYSTEM_DATABASES]

    def tables(self, connection: Any) -> list[str]:
        found = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') "
            "AND table_schema NOT LIKE 'pg\\_t%' ORDER BY 1, 2"
        )
        return [f"{schema}.{name}" for schema, name in found]

    def columns(self, connection: Any, table: str) -> list[ColumnNote]:
        schema, _, name = table.rpartition(".")
        found = connection.execute(
            "SELECT column_name, udt_name, is_nullable = 'YES', character_maximum_length, "
            "numeric_precision, numeric_scale, datetime_precision "
            "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s "
            "ORDER BY ordinal_position",
            (schema or "public", name),
        )
        return [ColumnNote(*note) for note in found]

    def primary_key(self, connection: Any, table: str) -> tuple[str | None, list[str]]:
        found = connection.execute(
            "SELECT c.conname, a.attname FROM pg_constraint c "
            "CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k (number, place) "
            "JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.number "
            "WHERE c.contype = 'p' AND c.conrelid = to_regclass(%s) ORDER BY k.place",
            (self.quote_table(table),),
        ).fetchall()
        return (found[0][0] if found else None), [column for _, column in found]


def _keep_json_as_text(connection: Any) -> None:
    from psycopg.types.json import set_json_loads

    set_json_loads(lambda data: data if isinstance(data, str) else data.decode(), connection)


def _unconnected(error: Any, text: str, lines: list[str]) -> Trouble:
    """A connection that was not made, or that broke: then there is no state to tell by."""
    fatal = next((line for line in lines if "FATAL:" in line), None)
    if fatal is None:
        if any(words in text for words in _NOT_TRUSTED):
            return Trouble(Cause.TLS, text)
        away = isinstance(error, load_psycopg().OperationalError | load_psycopg().InterfaceError)
        return Trouble(Cause.AWAY if away else Cause.OTHER, text)
    told = fatal.partition("FATAL:")[2].strip()
    if any(word in told for word in _STARTING):
        return Trouble(Cause.AWAY, told)
    missing = told.startswith("database ") and "does not exist" in told
    return Trouble(Cause.NO_DATABASE if missing else Cause.LOGIN, told)
