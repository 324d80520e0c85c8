"""A catalog that lives as long as its process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import InvalidArgument
from headrace.sql.catalog import (
    Catalog,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogObject,
    Partition,
)

_Key = tuple[tuple[str, str], ...]


@dataclass
class _Contents:
    about: CatalogDatabase
    tables: dict[str, CatalogObject] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    partitions: dict[str, dict[_Key, Mapping[str, str]]] = field(default_factory=dict)
    models: dict[str, CatalogModel] = field(default_factory=dict)
    notes: dict[str, dict[Any, Any]] = field(default_factory=dict)


class MemoryCatalog(Catalog):
    """Flink's `generic_in_memory`."""

    def __init__(self, default_database: str = "default", options: Mapping[str, str] | None = None):
        super().__init__(default_database, options)
        self._databases = {default_database: _Contents(CatalogDatabase())}

    def databases(self) -> Sequence[str]:
        return sorted(self._databases)

    def database(self, name: str) -> CatalogDatabase | None:
        contents = self._databases.get(name)
        return None if contents is None else contents.about

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        contents = self._databases.setdefault(name, _Contents(database))
        contents.about = database

    def drop_database(self, name: str) -> None:
        self._in(name)
        del self._databases[name]

    def _in(self, database: str) -> _Contents:
        contents = self._databases.get(database)
        if contents is None:
            raise InvalidArgument(f"there is no database {database}")
        return contents

    def tables(self, database: str) -> Sequence[str]:
        return sorted(self._in(database).tables)

    def table(self, database: str, name: str) -> CatalogObject | None:
        contents = self._databases.get(database)
        return None if contents is None else contents.tables.get(name)

    def put_table(self, database: str, name: str, table: CatalogObject) -> None:
        self._in(database).tables[name] = table

    def drop_table(self, database: str, name: str) -> None:
        contents = self._in(database)
        if contents.tables.pop(name, None) is None:
            raise InvalidArgument(f"there is no table {database}.{name}")
        contents.partitions.pop(name, None)
        contents.notes.pop(name, None)

    def rename_table(self, database: str, old: str, new: str) -> None:
        notes = self._in(database).notes.get(old, {})
        super().rename_table(database, old, new)
        self.notes(database, new).update(notes)

    def functions(self, database: str) -> Sequence[str]:
        return sorted(self._in(database).functions)

    def function(self, database: str, name: str) -> CatalogFunction | None:
        contents = self._databases.get(database)
        return None if contents is None else contents.functions.get(name)

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        self._in(database).functions[name] = function

    def drop_function(self, database: str, name: str) -> None:
        if self._in(database).functions.pop(name, None) is None:
            raise InvalidArgument(f"there is no function {database}.{name}")

    def partitions(self, database: str, table: str) -> Sequence[Partition]:
        return [dict(key) for key in self._in(database).partitions.get(table, {})]

    def partition(
        self, database: str, table: str, partition: Partition
    ) -> Mapping[str, str] | None:
        return self._in(database).partitions.get(table, {}).get(_key(partition))

    def put_partition(
        self, database: str, table: str, partition: Partition, properties: Mapping[str, str]
    ) -> None:
        kept = self._in(database).partitions.setdefault(table, {})
        kept[_key(partition)] = dict(properties)

    def drop_partition(self, database: str, table: str, partition: Partition) -> None:
        self._in(database).partitions.get(table, {}).pop(_key(partition), None)

    def models(self, database: str) -> Sequence[str]:
        return sorted(self._in(database).models)

    def model(self, database: str, name: str) -> CatalogModel | None:
        contents = self._databases.get(database)
        return None if contents is None else contents.models.get(name)

    def put_model(self, database: str, name: str, model: CatalogModel) -> None:
        self._in(database).models[name] = model

    def drop_model(self, database: str, name: str) -> None:
        del self._in(database).models[name]

    def notes(self, database: str, table: str) -> dict[Any, Any]:
        return self._in(database).notes.setdefault(table, {})


def _key(partition: Partition) -> _Key:
    return tuple(sorted(partition.items()))
