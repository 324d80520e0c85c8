"""A session: catalogs, functions and options, and what statements do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.expressions import Expression, UserFunction
from headrace.graph.relations import Insert, Relation
from headrace.operators.functions.session import session_time_zone
from headrace.spark.dependencies import Dependencies
from headrace.sql import statements as st
from headrace.sql.catalog import CatalogFunction
from headrace.sql.catalog_manager import CATALOG_TYPES, CatalogManager
from headrace.sql.catalog_tables import CatalogTables, sink_of
from headrace.sql.function_catalog import FunctionCatalog
from headrace.sql.inserting import inserted
from headrace.sql.queries import QueryBuilder
from headrace.sql.relation_builder import insert
from headrace.table.settings import TableSettings
from headrace.table.spark_catalog import jdbc_catalog, spark_catalog
from headrace.table.user_functions import loaded_function

CATALOG_TYPES.update(spark=spark_catalog, hive=spark_catalog, jdbc=jdbc_catalog)


class TableSession:
    """Makes relations of statements; it runs nothing."""

    def __init__(self, catalogs: CatalogManager, settings: TableSettings):
        self.catalogs = catalogs
        self.settings = settings
        self.functions = FunctionCatalog(catalogs)
        self.tables = CatalogTables(catalogs, self.functions, self._load_function)

    def _load_function(self, name: str, registered: CatalogFunction) -> UserFunction:
        modules = Dependencies.configured(self.settings.configuration).modules()
        return loaded_function(name, registered, modules)

    @property
    def builder(self) -> QueryBuilder:
        return QueryBuilder(
            self.tables, batch=self.settings.batch, strict_patterns=self.settings.strict_patterns
        )

    def query(self, tree: Any) -> Relation:
        """The relation of a parsed query."""
        with session_time_zone(self.settings.zone):
            return self.builder.query(tree)

    def query_text(self, text: str) -> Relation:
        with session_time_zone(self.settings.zone):
            return self.builder.text(text)

    def insert(self, statement: st.Insert) -> Insert:
        """The relation of INSERT INTO."""
        with session_time_zone(self.settings.zone):
            made = insert(self.builder, statement)
        assert isinstance(made, Insert)
        return made

    def written(
        self, relation: Relation, path: Sequence[str], options: Mapping[str, str] | None = None, *,
        names: Sequence[str] | None = None, partition: Mapping[str, Expression] | None = None,
        overwrite: bool = False, conflict: str | None = None, at: Any = None,
    ) -> Insert:  # fmt: skip
        """A relation written to a table of the catalogs."""
        with session_time_zone(self.settings.zone):
            full, table = self.tables.target(tuple(path), options or {}, at)
            made = inserted(
                relation, full, table, sink_of(full, table, at), names=names, partition=partition,
                overwrite=overwrite, conflict=conflict, at=at,
            )  # fmt: skip
        assert isinstance(made, Insert)
        return made
