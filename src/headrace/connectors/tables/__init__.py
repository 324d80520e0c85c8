"""Connectors of tables: what WITH ('connector' = '…') can name."""

from __future__ import annotations

import difflib

from headrace.connectors.tables.cdc import MySqlCdcConnector, PostgresCdcConnector
from headrace.connectors.tables.datagen import DataGenConnector
from headrace.connectors.tables.elasticsearch import ElasticsearchConnector
from headrace.connectors.tables.filesystem import FileSystemConnector
from headrace.connectors.tables.jdbc import JdbcConnector
from headrace.connectors.tables.kafka import KafkaConnector, UpsertKafkaConnector
from headrace.connectors.tables.sinks import BlackholeConnector, PrintConnector
from headrace.core.table_connector import TableConnector
from headrace.errors import InvalidArgument

_CONNECTORS: dict[str, TableConnector] = {
    connector.identifier: connector
    for connector in (
        FileSystemConnector(),
        DataGenConnector(),
        KafkaConnector(),
        UpsertKafkaConnector(),
        PrintConnector(),
        BlackholeConnector(),
        JdbcConnector(),
        ElasticsearchConnector("elasticsearch-7"),
        ElasticsearchConnector("opensearch"),
        ElasticsearchConnector("opensearch-2"),
        PostgresCdcConnector(),
        MySqlCdcConnector(),
    )
}


def register_connector(connector: TableConnector) -> None:
    """Make a connector of one's own known by its identifier."""
    if not isinstance(connector, TableConnector):
        raise InvalidArgument(
            f"{connector!r} is no TableConnector",
            hint="Subclass headrace.core.table_connector.TableConnector.",
        )
    _CONNECTORS[connector.identifier] = connector


def find_connector(identifier: str) -> TableConnector:
    """The connector with that identifier."""
    found = _CONNECTORS.get(identifier)
    if found is None:
        close = difflib.get_close_matches(identifier, _CONNECTORS, n=1)
        raise InvalidArgument(
            f"there is no connector '{identifier}'",
            hint=f"Did you mean '{close[0]}'?" if close
            else f"There are: {', '.join(sorted(_CONNECTORS))}.",
        )  # fmt: skip
    return found


def connector_names() -> list[str]:
    return sorted(_CONNECTORS)
