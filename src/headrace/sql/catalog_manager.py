"""All catalogs of a session, which of them is current, and what a name means there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from headrace.errors import CatalogException, InvalidQuery
from headrace.sql.catalog import (
    Catalog,
    CatalogDatabase,
    CatalogModel,
    CatalogObject,
    CatalogView,
    is_anonymous,
)
from headrace.sql.file_catalog import FileCatalog
from headrace.sql.memory_catalog import MemoryCatalog
from headrace.sql.position import did_you_mean

Path = tuple[str, ...]
FullPath = tuple[str, str, str]

DEFAULT_CATALOG, DEFAULT_DATABASE = "default_catalog", "default_database"


@dataclass(frozen=True)
class FoundTable:
    path: FullPath
    table: CatalogObject
    temporary: bool = False


def _file_catalog(options: Mapping[str, str]) -> Catalog:
    folder = options.get("path")
    if folder is None:
        raise InvalidQuery(
            "a catalog of type filesystem needs a folder", hint="add 'path' = '/some/folder'"
        )
    return FileCatalog(folder, options.get("default-database", "default"), options)


CATALOG_TYPES: dict[str, Callable[[Mapping[str, str]], Catalog]] = {
    "generic_in_memory": lambda options: MemoryCatalog(
        options.get("default-database", "default"), options
    ),
    "filesystem": _file_catalog,
}
"""What CREATE CATALOG … WITH ('type' = '…') makes; a new kind is one more line."""


class CatalogManager:
    """Resolves names. Temporary objects hide permanent ones of the same name."""

    def __init__(
        self,
        default_catalog: str = DEFAULT_CATALOG,
        default_database: str = DEFAULT_DATABASE,
        catalog: Catalog | None = None,
    ):
        self._catalogs: dict[str, Catalog] = {}
        self._temporary: dict[FullPath, CatalogObject] = {}
        self.temporary_models: dict[FullPath, CatalogModel] = {}
        self.current_catalog = default_catalog
        self.current_database = default_database
        self.register_catalog(default_catalog, catalog or MemoryCatalog(default_database))

    # Catalogs and databases

    def register_catalog(self, name: str, catalog: Catalog, at: object | None = None) -> None:
        if name in self._catalogs:
            raise CatalogException(f"there is a catalog {name} already", origin=at)
        catalog.open()
        self._catalogs[name] = catalog

    def create_catalog(
        self, name: str, options: Mapping[str, str], at: object | None = None
    ) -> Catalog:
        """The catalog that the option 'type' asks for."""
        kind = options.get("type")
        make = CATALOG_TYPES.get(kind or "")
        if make is None:
            known = ", ".join(sorted(CATALOG_TYPES))
            raise InvalidQuery(
                "a catalog needs the option 'type'" if kind is None
                else f"there is no type of catalogs called {kind}",
                origin=at, hint=did_you_mean(kind or "", CATALOG_TYPES, f"types are {known}"),
            )  # fmt: skip
        catalog = make(options)
        self.register_catalog(name, catalog, at)
        return catalog

    def drop_catalog(self, name: str, at: object | None = None) -> None:
        catalog = self.catalog(name, at)
        if name == self.current_catalog:
            raise InvalidQuery(
                f"the catalog {name} is the current one", origin=at,
                hint="USE CATALOG another one first",
            )  # fmt: skip
        catalog.close()
        del self._catalogs[name]
        self._temporary = {
            path: table for path, table in self._temporary.items() if path[0] != name
        }

    def catalogs(self) -> Sequence[str]:
        return sorted(self._catalogs)

    def has_catalog(self, name: str) -> bool:
        return name in self._catalogs

    def catalog(self, name: str | None = None, at: object | None = None) -> Catalog:
        wanted = self.current_catalog if name is None else name
        found = self._catalogs.get(wanted)
        if found is None:
            raise CatalogException(
                f"there is no catalog {wanted}", origin=at,
                hint=did_you_mean(wanted, self._catalogs, "SHOW CATALOGS lists them"),
            )  # fmt: skip
        return found

    def use_catalog(self, name: str, at: object | None = None) -> None:
        catalog = self.catalog(name, at)
        self.current_catalog = name
        self.current_database = catalog.default_database

    def use_database(self, path: Path, at: object | None = None) -> None:
        catalog, database = self.database_path(path)
        self.database(path, at)
        self.current_catalog, self.current_database = catalog, database

    def database_path(self, path: Path) -> tuple[str, str]:
        """A database's name with its catalog's; () is the current one."""
        if not path:
            return self.current_catalog, self.current_database
        return (self.current_catalog, path[0]) if len(path) == 1 else (path[0], path[1])

    def database(self, path: Path, at: object | None = None) -> CatalogDatabase:
        catalog, name = self.database_path(path)
        found = self.catalog(catalog, at).database(name)
        if found is None:
            known = self.catalog(catalog).databases()
            raise CatalogException(
                f"there is no database {name} in catalog {catalog}", origin=at,
                hint=did_you_mean(name, known, "SHOW DATABASES lists them"),
            )  # fmt: skip
        return found

    # Tables and views

    def qualified(self, path: Path) -> FullPath:
        """The whole path of a name by the current catalog and database."""
        if len(path) == 3:
            return (path[0], path[1], path[2])
        if len(path) == 2:
            return (self.current_catalog, path[0], path[1])
        return (self.current_catalog, self.current_database, path[0])

    def find_table(self, path: Path) -> FoundTable | None:
        full = self.qualified(path)
        temporary = self._temporary.get(full)
        if temporary is not None:
            return FoundTable(full, temporary, True)
        return self.find_permanent(full)

    def find_permanent(self, path: Path) -> FoundTable | None:
        full = self.qualified(path)
        catalog = self._catalogs.get(full[0])
        table = None if catalog is None else catalog.table(full[1], full[2])
        return None if table is None else FoundTable(full, table)

    def table(self, path: Path, at: object | None = None) -> FoundTable:
        found = self.find_table(path)
        if found is None:
            raise self.no_such("table or view", path, self._table_names(path), at)
        return found

    def no_such(
        self, what: str, path: Path, known: Iterable[str], at: object | None = None
    ) -> InvalidQuery:
        """An error that says where was looked, with the closest name."""
        catalog, database, name = self.qualified(path)
        if catalog not in self._catalogs:
            shown = ".".join(path)
            hint = did_you_mean(catalog, self._catalogs, f"there is no catalog {catalog}")
            return InvalidQuery(f"there is no {what} {shown}", origin=at, hint=hint)
        if self.catalog(catalog).database(database) is None:
            databases = self.catalog(catalog).databases()
            hint = did_you_mean(database, databases, f"there is no database {database}")
            return InvalidQuery(f"there is no {what} {'.'.join(path)}", origin=at, hint=hint)
        hint = did_you_mean(name, known, f"looked in {catalog}.{database}")
        return InvalidQuery(f"there is no {what} {'.'.join(path)}", origin=at, hint=hint)

    def _table_names(self, path: Path) -> Sequence[str]:
        full = self.qualified(path)
        catalog = self._catalogs.get(full[0])
        if catalog is None or catalog.database(full[1]) is None:
            return []
        return self.tables(full[:2])

    def create_table(
        self,
        path: Path,
        table: CatalogObject,
        *,
        temporary: bool = False,
        if_not_exists: bool = False,
        at: object | None = None,
    ) -> bool:
        """Whether it was created; an existing one raises unless `if_not_exists`."""
        full = self.qualified(path)
        exists = full in self._temporary if temporary else self.find_permanent(full) is not None
        if exists and if_not_exists:
            return False
        if exists:
            raise InvalidQuery(
                f"there is a table or view {'.'.join(full)} already", origin=at,
                hint="drop it first, or write IF NOT EXISTS",
            )  # fmt: skip
        if temporary:
            self.catalog(full[0], at)
            self._temporary[full] = table
        else:
            self.database(full[:2], at)
            self.catalog(full[0], at).put_table(full[1], full[2], table)
        return True

    def replace_table(self, found: FoundTable, table: CatalogObject) -> None:
        """Change what a table or view is."""
        catalog, database, name = found.path
        if found.temporary:
            self._temporary[found.path] = table
        else:
            self.catalog(catalog).put_table(database, name, table)

    def drop_table(
        self,
        path: Path,
        *,
        view: bool | None = False,
        temporary: bool = False,
        if_exists: bool = False,
        at: object | None = None,
    ) -> bool:
        """Whether it was dropped; `view` says which of both it must be, None: either."""
        full = self.qualified(path)
        what = "table or view" if view is None else "view" if view else "table"
        held = self._temporary.get(full)
        if temporary:
            found = None if held is None else FoundTable(full, held, True)
        else:
            found = self.find_permanent(full)
        if found is None or (view is not None and isinstance(found.table, CatalogView) != view):
            if if_exists:
                return False
            if found is not None:
                other = "table" if view else "view"
                raise InvalidQuery(
                    f"{'.'.join(path)} is a {other}", origin=at, hint=f"write DROP {other.upper()}"
                )
            kind = f"temporary {what}" if temporary else what
            raise self.no_such(kind, path, self._table_names(path), at)
        if not temporary and held is not None:
            raise InvalidQuery(
                f"a temporary table or view hides {'.'.join(full)}", origin=at,
                hint=f"DROP TEMPORARY {'VIEW' if view else 'TABLE'} it first",
            )  # fmt: skip
        if temporary:
            del self._temporary[full]
        else:
            self.catalog(full[0]).drop_table(full[1], full[2])
        return True

    def rename_table(self, found: FoundTable, new: Path, at: object | None = None) -> None:
        target = self.qualified(new if len(new) > 1 else (*found.path[:2], new[0]))
        if target[:2] != found.path[:2]:
            raise InvalidQuery("a table cannot be moved to another database", origin=at)
        if self.find_table(target) is not None:
            raise InvalidQuery(f"there is a table {'.'.join(target)} already", origin=at)
        if found.temporary:
            self._temporary[target] = self._temporary.pop(found.path)
        else:
            catalog, database, name = found.path
            self.catalog(catalog).rename_table(database, name, target[2])

    def tables(self, database: Path = ()) -> Sequence[str]:
        """Names of tables and views, also temporary ones."""
        catalog, name = self.database_path(database)
        known = set(self.catalog(catalog).tables(name))
        return sorted(known | set(self.temporary_tables((catalog, name))))

    def temporary_tables(self, database: Path = ()) -> Sequence[str]:
        place = self.database_path(database)
        return sorted(
            path[2] for path in self._temporary if path[:2] == place and not is_anonymous(path)
        )

    def views(self, database: Path = ()) -> Sequence[str]:
        place = self.database_path(database)
        return [name for name in self.tables(database) if self._is_view((*place, name))]

    def _is_view(self, path: FullPath) -> bool:
        found = self.find_table(path)
        return found is not None and isinstance(found.table, CatalogView)
