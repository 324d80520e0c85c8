"""The user's functions of a session by name: temporary ones, and those of catalogs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headrace.errors import InvalidQuery
from headrace.sql.catalog import CatalogFunction
from headrace.sql.catalog_manager import CatalogManager, FullPath, Path


@dataclass(frozen=True)
class FoundFunction:
    path: Path
    """Whole, or only the name of a temporary system function."""
    function: CatalogFunction
    temporary: bool = False
    system: bool = False


class FunctionCatalog:
    """Names are compared without case, as Flink does.

    A plain name means, in this order: a temporary system function, a built-in one, a temporary
    function, a function of the current database. The built-in ones are not here: `find_system`
    comes before them, `find` after them.
    """

    def __init__(self, manager: CatalogManager):
        self._manager = manager
        self._system: dict[str, CatalogFunction] = {}
        self._temporary: dict[FullPath, CatalogFunction] = {}

    def find_system(self, name: str) -> CatalogFunction | None:
        return self._system.get(name.lower())

    def find(self, path: Path) -> FoundFunction | None:
        """What a name means besides built-in functions."""
        if len(path) == 1 and (system := self.find_system(path[0])) is not None:
            return FoundFunction((path[0].lower(),), system, True, True)
        full = self._full(path)
        temporary = self._temporary.get(full)
        if temporary is not None:
            return FoundFunction(full, temporary, True)
        return self._permanent(full)

    def _permanent(self, full: FullPath) -> FoundFunction | None:
        if not self._manager.has_catalog(full[0]):
            return None
        found = self._manager.catalog(full[0]).function(full[1], full[2])
        return None if found is None else FoundFunction(full, found)

    def _full(self, path: Path) -> FullPath:
        catalog, database, name = self._manager.qualified(path)
        return catalog, database, name.lower()

    def create_system(
        self, name: str, function: CatalogFunction, if_not_exists: bool = False,
        at: object | None = None,
    ) -> bool:  # fmt: skip
        key = name.lower()
        if key in self._system:
            return self._existing(f"temporary system function {name}", if_not_exists, at)
        self._system[key] = function
        return True

    def create(
        self, path: Path, function: CatalogFunction, *, temporary: bool = False,
        if_not_exists: bool = False, at: object | None = None,
    ) -> bool:  # fmt: skip
        """Whether it was created; an existing one raises unless `if_not_exists`."""
        full = self._full(path)
        shown = ".".join(full)
        if temporary:
            if full in self._temporary:
                return self._existing(f"temporary function {shown}", if_not_exists, at)
            self._temporary[full] = function
            return True
        self._manager.database(full[:2], at)
        if self._permanent(full) is not None:
            return self._existing(f"function {shown}", if_not_exists, at)
        self._manager.catalog(full[0]).put_function(full[1], full[2], function)
        return True

    def _existing(self, what: str, allowed: bool, at: object | None) -> bool:
        if allowed:
            return False
        raise InvalidQuery(
            f"there is a {what} already", origin=at, hint="drop it first, or write IF NOT EXISTS"
        )

    def replace(
        self, path: Path, function: CatalogFunction, *, temporary: bool = False,
        if_exists: bool = False, at: object | None = None,
    ) -> bool:  # fmt: skip
        full = self._full(path)
        if temporary and full in self._temporary:
            self._temporary[full] = function
            return True
        if not temporary and self._permanent(full) is not None:
            self._manager.catalog(full[0]).put_function(full[1], full[2], function)
            return True
        return self._missing(path, if_exists, at)

    def drop(
        self, path: Path, *, temporary: bool = False, system: bool = False,
        if_exists: bool = False, at: object | None = None,
    ) -> bool:  # fmt: skip
        """Whether it was dropped; none raises unless `if_exists`."""
        full = self._full(path)
        if system:
            dropped = self._system.pop(path[-1].lower(), None) is not None
        elif temporary:
            dropped = self._temporary.pop(full, None) is not None
        else:
            dropped = self._permanent(full) is not None
            if dropped:
                self._manager.catalog(full[0]).drop_function(full[1], full[2])
        return dropped or self._missing(path, if_exists, at)

    def _missing(self, path: Path, allowed: bool, at: object | None) -> bool:
        if allowed:
            return False
        raise self._manager.no_such("function", path, self.names(), at)

    def names(self, database: Path = ()) -> Sequence[str]:
        """Names that can be called there, without the built-in functions."""
        return sorted(set(self._system) | set(self.of_database(database)))

    def of_database(self, database: Path = ()) -> Iterator[str]:
        place = self._manager.database_path(database)
        yield from (path[2] for path in self._temporary if path[:2] == place)
        catalog = self._manager.catalog(place[0])
        if catalog.database(place[1]) is not None:
            yield from catalog.functions(place[1])
