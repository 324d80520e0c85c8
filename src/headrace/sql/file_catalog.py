"""A catalog kept in a folder: a file of JSON for each object, so it outlives its process."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from headrace.errors import InvalidArgument
from headrace.sql import catalog_json
from headrace.sql.catalog import (
    Catalog,
    CatalogDatabase,
    CatalogFunction,
    CatalogObject,
    Partition,
)

_ABOUT, _TABLES, _FUNCTIONS, _PARTITIONS = "database.json", "tables", "functions", "partitions"
_SUFFIX = ".json"
_LONGEST_NAME = 200


class FileCatalog(Catalog):
    """Databases are folders of `folder`. A file is written beside its place and moved there."""

    def __init__(
        self,
        folder: str | Path,
        default_database: str = "default",
        options: Mapping[str, str] | None = None,
    ):
        super().__init__(default_database, options)
        self._folder = Path(folder)

    def open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if self.database(self.default_database) is None:
            self.put_database(self.default_database, CatalogDatabase())

    def databases(self) -> Sequence[str]:
        found = (each for each in self._folder.iterdir() if (each / _ABOUT).is_file())
        return sorted(unquote(each.name) for each in found)

    def database(self, name: str) -> CatalogDatabase | None:
        data = _read(self._place(name) / _ABOUT)
        return None if data is None else catalog_json.database_of(data)

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        _write(self._place(name) / _ABOUT, catalog_json.database_json(database))

    def drop_database(self, name: str) -> None:
        place = self._existing(name)
        # Without this file it is no database any more, whatever happens to the rest.
        (place / _ABOUT).unlink()
        shutil.rmtree(place)

    def tables(self, database: str) -> Sequence[str]:
        return _names(self._existing(database) / _TABLES)

    def table(self, database: str, name: str) -> CatalogObject | None:
        data = _read(self._file(database, _TABLES, name))
        return None if data is None else catalog_json.table_of(data)

    def put_table(self, database: str, name: str, table: CatalogObject) -> None:
        self._existing(database)
        _write(self._file(database, _TABLES, name), catalog_json.table_json(table))

    def drop_table(self, database: str, name: str) -> None:
        _remove(self._file(database, _TABLES, name), f"table {database}.{name}")
        self._file(database, _PARTITIONS, name).unlink(missing_ok=True)

    def functions(self, database: str) -> Sequence[str]:
        return _names(self._existing(database) / _FUNCTIONS)

    def function(self, database: str, name: str) -> CatalogFunction | None:
        data = _read(self._file(database, _FUNCTIONS, name))
        return None if data is None else catalog_json.function_of(data)

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        self._existing(database)
        _write(self._file(database, _FUNCTIONS, name), catalog_json.function_json(function))

    def drop_function(self, database: str, name: str) -> None:
        _remove(self._file(database, _FUNCTIONS, name), f"function {database}.{name}")

    def partitions(self, database: str, table: str) -> Sequence[Partition]:
        return [partition for partition, _ in self._partitions(database, table)]

    def partition(
        self, database: str, table: str, partition: Partition
    ) -> Mapping[str, str] | None:
        kept = self._partitions(database, table)
        return next((each for known, each in kept if known == dict(partition)), None)

    def put_partition(
        self, database: str, table: str, partition: Partition, properties: Mapping[str, str]
    ) -> None:
        kept = [pair for pair in self._partitions(database, table) if pair[0] != dict(partition)]
        kept.append((dict(partition), dict(properties)))
        _write(self._file(database, _PARTITIONS, table), {"partitions": kept})

    def drop_partition(self, database: str, table: str, partition: Partition) -> None:
        kept = [pair for pair in self._partitions(database, table) if pair[0] != dict(partition)]
        _write(self._file(database, _PARTITIONS, table), {"partitions": kept})

    def _partitions(self, database: str, table: str) -> list[tuple[dict[str, str], dict[str, str]]]:
        data = _read(self._file(database, _PARTITIONS, table))
        return [] if data is None else [(known, each) for known, each in data["partitions"]]

    def _place(self, database: str) -> Path:
        return self._folder / _file_name(database)

    def _existing(self, database: str) -> Path:
        place = self._place(database)
        if not (place / _ABOUT).is_file():
            raise InvalidArgument(f"there is no database {database}")
        return place

    def _file(self, database: str, kind: str, name: str) -> Path:
        return self._place(database) / kind / (_file_name(name) + _SUFFIX)


def _file_name(name: str) -> str:
    """A name as a file's, which never leads out of its folder or hides in it."""
    safe = quote(name, safe="").replace(".", "%2E")
    if not safe or len(safe) > _LONGEST_NAME:
        raise InvalidArgument(
            f"{name!r} cannot be a name in this catalog",
            hint=f"names have 1 to {_LONGEST_NAME} characters",
        )
    return safe


def _names(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    files = (each.name for each in folder.iterdir() if each.name.endswith(_SUFFIX))
    return sorted(unquote(name.removesuffix(_SUFFIX)) for name in files)


def _read(file: Path) -> dict[str, Any] | None:
    try:
        text = file.read_text("utf-8")
    except FileNotFoundError:
        return None
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise InvalidArgument(
            f"the catalog's file {file} is damaged: {error}",
            hint="restore it, or delete it and create the object again",
        ) from error
    return found


def _write(file: Path, data: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{uuid.uuid4().hex}.draft")
    with draft.open("w", encoding="utf-8") as out:
        json.dump(data, out, ensure_ascii=False, indent=2)
        out.flush()
        os.fsync(out.fileno())
    draft.replace(file)


def _remove(file: Path, what: str) -> None:
    try:
        file.unlink()
    except FileNotFoundError as error:
        raise InvalidArgument(f"there is no {what}") from error
