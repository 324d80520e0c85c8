"""Tables of databases with their changes: 'postgres-cdc' and 'mysql-cdc'."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.connectors.cdc.capture import Capture, CapturedTable
from headrace.connectors.cdc.mysql import MySqlCapture, mysql_url
from headrace.connectors.cdc.postgres import PostgresCapture, postgres_url
from headrace.connectors.cdc.source import ChangeSource
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.tables.options import Options
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType, RowType
from headrace.core.source import SplitSpec
from headrace.core.table_connector import (
    RETRACT,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSource,
)
from headrace.errors import InvalidArgument, Unsupported

_STRING = lt.VarCharType(nullable=False)
_METADATA: dict[str, LogicalType] = {
    "database_name": _STRING,
    "schema_name": _STRING,
    "table_name": _STRING,
    "op_ts": lt.LocalZonedTimestampType(precision=3, nullable=False),
    "row_kind": _STRING,
}
_WITHOUT_MEANING = (
    "connect.max-retries",
    "connection.pool.size",
    "heartbeat.interval",
    "heartbeat.interval.ms",
    "chunk-key.even-distribution.factor.lower-bound",
    "chunk-key.even-distribution.factor.upper-bound",
)
"""What tells Flink's readers how to share a table, or is not needed."""
_SLOT_NAME = re.compile(r"[a-z0-9_]{1,63}")


@dataclass(frozen=True)
class CdcTableSource(TableSource):
    table: CapturedTable
    make_capture: Callable[[CapturedTable], Capture]
    known: tuple[str, ...]
    """Metadata that there is."""
    wanted: tuple[str, ...] = ()
    bounded = False

    @property
    def changelog(self) -> ChangelogMode:  # type: ignore[override]
        if not self.table.upsert:
            return RETRACT
        key = self.table.key_places
        return ChangelogMode(updates_after=True, deletes=True, key=key, deletes_by_key=True)

    def reader(self) -> SplitSpec:
        return SplitSpec(ChangeSource(self.table, self.make_capture, self.wanted))

    def metadata(self) -> Mapping[str, Any]:
        return {name: _METADATA[name] for name in self.known}

    def with_metadata(self, keys: tuple[str, ...]) -> TableSource:
        return replace(self, wanted=keys)


@dataclass(frozen=True)
class PostgresCdcConnector(TableConnector):
    identifier: str = "postgres-cdc"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        given = Options(self.identifier, options)
        _check_columns(table, row, self.identifier)
        captured = CapturedTable(
            _connection(given, postgres_url, 5432),
            given.required("database-name"),
            given.required("schema-name"),
            given.required("table-name"),
            row.names,
            row.types,
            table.schema.primary_key or (),
            _startup(given, ("initial", "latest-offset", "committed-offset", "never")),
            given.choice("changelog-mode", ("all", "upsert"), "all") == "upsert",
            _fetch_size(given),
            _slot(given),
        )
        given.done()
        return CdcTableSource(captured, PostgresCapture, tuple(_METADATA))


@dataclass(frozen=True)
class MySqlCdcConnector(TableConnector):
    identifier: str = "mysql-cdc"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        given = Options(self.identifier, options)
        _check_columns(table, row, self.identifier)
        startup = _startup(
            given,
            ("initial", "latest-offset", "earliest-offset", "specific-offset", "timestamp"),
        )
        settings = {"server_ids": _server_ids(given), "zone": _zone(given)}
        captured = CapturedTable(
            _connection(given, mysql_url, 3306),
            given.required("database-name"),
            None,
            given.required("table-name"),
            row.names,
            row.types,
            table.schema.primary_key or (),
            startup,
            fetch_size=_fetch_size(given),
            settings={**settings, **_start_place(given, startup)},
        )
        given.done()
        known = tuple(name for name in _METADATA if name != "schema_name")
        return CdcTableSource(captured, MySqlCapture, known)


def _server_ids(given: Options) -> tuple[int, int] | None:
    text = given.text("server-id")
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d*)(?:-([1-9]\d*))?", text)
    if found is None or int(found[2] or found[1]) < int(found[1]):
        raise InvalidArgument(
            f"'server-id' is a number or a range of numbers as '5400-5408', not '{text}'"
        )
    return int(found[1]), int(found[2] or found[1])


def _zone(given: Options) -> str:
    name = given.text("server-time-zone", "UTC") or "UTC"
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError):
        raise InvalidArgument(
            f"'server-time-zone' = '{name}' is no time zone", hint="Write a name as 'Asia/Tokyo'."
        ) from None


def _start_place(given: Options, startup: str) -> dict[str, Any]:
    """Where a job begins that does not begin with the table as it is."""
    prefix = "scan.startup.specific-offset."
    for name in ("gtid-set", "skip-events", "skip-rows"):
        if given.text(prefix + name) is not None:
            raise Unsupported(
                f"'{prefix}{name}' has no meaning here",
                hint=f"Give '{prefix}file' and '{prefix}pos'.",
            )
    file, offset = given.text(f"{prefix}file"), given.whole(f"{prefix}pos")
    millis = given.whole("scan.startup.timestamp-millis")
    if startup == "specific-offset":
        if file is None or offset is None or not re.fullmatch(r".+\.\d+", file) or offset < 4:
            raise InvalidArgument(
                f"'scan.startup.mode' = 'specific-offset' needs '{prefix}file' as "
                f"'binlog.000003' and '{prefix}pos', at least 4",
                hint="SHOW BINARY LOGS, and SHOW BINLOG EVENTS IN '…', tell them.",
            )
        return {"file": file, "offset": offset}
    if startup == "timestamp" and millis is None:
        raise InvalidArgument(
            "'scan.startup.mode' = 'timestamp' needs 'scan.startup.timestamp-millis'"
        )
    return {"millis": millis}


def _slot(given: Options) -> dict[str, str]:
    plugin = given.text("decoding.plugin.name", "pgoutput")
    if plugin != "pgoutput":
        raise Unsupported(
            f"'decoding.plugin.name' = '{plugin}' is not read here",
            hint="Leave the option out: every PostgreSQL from version 10 on has pgoutput.",
        )
    slot = given.required("slot.name")
    if not _SLOT_NAME.fullmatch(slot):
        raise InvalidArgument(
            f"'{slot}' cannot be the name of a slot",
            hint="It has small letters, digits and underscores, 63 at most.",
        )
    publication = given.text("debezium.publication.name", slot) or slot
    return {"slot": slot, "publication": publication}


def _connection(
    given: Options, make_url: Callable[[str, int, str, str], str], port: int
) -> JdbcConnectionOptions:
    for name in _WITHOUT_MEANING:
        given.text(name)
    given.starting_with("scan.incremental.")
    timeout_ms = given.duration_ms("connect.timeout")
    properties = urlencode(given.starting_with("jdbc.properties."))
    url = make_url(
        given.required("hostname"),
        given.whole("port", port) or port,
        given.required("database-name"),
        properties,
    )
    user, password = given.required("username"), given.required("password")
    seconds = 30 if timeout_ms is None else timeout_ms // 1000
    return JdbcConnectionOptions(url, None, user, password, seconds)


def _startup(given: Options, modes: tuple[str, ...]) -> str:
    wanted = given.text("scan.startup.mode", "initial") or ""
    if wanted == "snapshot":
        raise Unsupported(
            "'scan.startup.mode' = 'snapshot' reads a table that ends",
            hint="Use the connector 'jdbc', which does so.",
        )
    return given.choice("scan.startup.mode", modes, "initial")


def _fetch_size(given: Options) -> int:
    size = given.whole("scan.snapshot.fetch.size", 1024) or 0
    if size < 1:
        raise InvalidArgument("'scan.snapshot.fetch.size' is at least 1")
    return size


def _check_columns(table: CatalogTable, row: RowType, connector: str) -> None:
    if table.schema.primary_key is None:
        raise InvalidArgument(
            f"a table of connector '{connector}' needs a primary key: by it reading goes on in the "
            "middle of a table",
            hint="Add PRIMARY KEY (…) NOT ENFORCED.",
        )
    plain = (lt.BooleanType, *lt.NUMERIC, *lt.CHARACTERS, *lt.BINARIES, *lt.DATETIMES)
    for each in row.fields:
        if not isinstance(each.type, plain):
            raise Unsupported(
                f"column {each.name!r} of type {each.type} cannot be in a table of connector "
                f"'{connector}'",
                hint="Declare it as STRING: then it is the text that the database shows.",
            )
