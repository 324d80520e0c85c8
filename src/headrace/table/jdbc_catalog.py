"""The tables of a database server, as a catalog: they appear by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from headrace.connectors.jdbc.databases import Database, open_database
from headrace.connectors.jdbc.describing import describe
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.sessions import Session
from headrace.connectors.tables.jdbc import JdbcConnector
from headrace.core.table_connector import CatalogTable, TableColumn, TableSchema
from headrace.errors import Unsupported
from headrace.sql.catalog import Catalog, CatalogDatabase, CatalogFunction, CatalogObject

R = TypeVar("R")
SERVED = ("jdbc:postgresql:", "jdbc:mysql:", "jdbc:mariadb:")
_HIDDEN = "******"


class JdbcServerCatalog(Catalog):
    """Databases of PostgreSQL, MariaDB or MySQL and their tables, which can be read and written and
    not made or dropped here. Functions are kept in memory."""

    def __init__(self, base_url: str, user: str, password: str, options: Mapping[str, str]):
        shown = {key: _HIDDEN if key == "password" else each for key, each in options.items()}
        super().__init__(options.get("default-database", "public"), shown)
        self._base = base_url.rstrip("/")
        self._user, self._password = user, password
        self._functions: dict[tuple[str, str], CatalogFunction] = {}

    def _connection(self, database: str) -> JdbcConnectionOptions:
        place, question, properties = self._base.partition("?")
        url = f"{place.rstrip('/')}/{database}{question}{properties}"
        return JdbcConnectionOptions(url, None, self._user, self._password)

    def _ask(self, database: str, question: Callable[[Database, Any], R]) -> R:
        found = open_database(self._connection(database))
        session = Session(found)
        try:
            return session.attempt(lambda it: question(found, it), "cannot ask", 3)
        finally:
            session.close()

    def open(self) -> None:
        self.databases()

    def databases(self) -> Sequence[str]:
        return self._ask(self.default_database, lambda database, it: database.databases(it))

    def database(self, name: str) -> CatalogDatabase | None:
        return CatalogDatabase() if name in self.databases() else None

    def tables(self, database: str) -> Sequence[str]:
        return self._ask(database, lambda found, it: found.tables(it))

    def table(self, database: str, name: str) -> CatalogObject | None:
        if self.database(database) is None:
            return None
        note = self._ask(database, lambda found, it: describe(found, it, name))
        if note is None:
            return None
        connection = self._connection(database)
        schema = TableSchema(
            tuple(TableColumn(field) for field in note.fields),
            primary_key=note.key or None,
            primary_key_name=note.key_name,
        )
        options = {"connector": "jdbc", "table-name": name}
        return CatalogTable(schema, options, connector=JdbcConnector(connection=connection))

    def functions(self, database: str) -> Sequence[str]:
        return sorted(name for place, name in self._functions if place == database)

    def function(self, database: str, name: str) -> CatalogFunction | None:
        return self._functions.get((database, name))

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        self._functions[database, name] = function

    def drop_function(self, database: str, name: str) -> None:
        del self._functions[database, name]

    # What only the database itself does.

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        self._refuse()

    def drop_database(self, name: str) -> None:
        self._refuse()

    def put_table(self, database: str, name: str, table: CatalogObject) -> None:
        self._refuse()

    def drop_table(self, database: str, name: str) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise Unsupported(
            "a catalog of type jdbc shows what a database has, and changes none of it",
            hint="Create and drop tables in the database itself.",
        )
