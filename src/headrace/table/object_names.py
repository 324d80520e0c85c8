"""Names of tables and functions in catalogs."""

from __future__ import annotations

import re

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["ObjectIdentifier", "ObjectPath", "path_parts", "require_name"]

_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^`.\s]+))\s*(\.|$)")


def path_parts(text: str, most: int = 3) -> tuple[str, ...]:
    """`a.b.c` in parts; a part with dots or blanks stands in backticks."""
    parts: list[str] = []
    at = 0
    while True:
        found = _PART.match(text, at)
        if found is None or len(parts) == most:
            raise InvalidArgument(
                f"{text!r} is no name of up to {most} parts", origin=calling_origin(),
                hint="Write catalog.database.name; a part with other characters in `backticks`.",
            )  # fmt: skip
        quoted, plain, end = found.groups()
        parts.append(plain if quoted is None else quoted.replace("``", "`"))
        at = found.end()
        if end != ".":
            return tuple(parts)


def require_name(name: object, what: str) -> str:
    """A name that is a text, and not a blank one."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidArgument(f"the name of a {what} cannot be {name!r}", origin=calling_origin())
    return name


def _java_chars(text: str) -> tuple[int, ...]:
    """A text as Java compares it: in units of UTF-16."""
    return tuple(memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"))


class ObjectPath:
    """A name in a catalog: database and object."""

    def __init__(self, database_name: str, object_name: str) -> None:
        self._parts = require_name(database_name, "database"), require_name(object_name, "table")

    def get_database_name(self) -> str:
        return self._parts[0]

    def get_object_name(self) -> str:
        return self._parts[1]

    def get_full_name(self) -> str:
        return ".".join(self._parts)

    def compare_to(self, other: ObjectPath) -> int:
        """How far the first letters that differ are apart, or the lengths of the full names."""
        mine, others = (_java_chars(path.get_full_name()) for path in (self, other))
        apart = (a - b for a, b in zip(mine, others, strict=False) if a != b)
        return next(apart, len(mine) - len(others))

    def __lt__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) < 0 if isinstance(other, ObjectPath) else NotImplemented

    def __le__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) <= 0 if isinstance(other, ObjectPath) else NotImplemented

    def __gt__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) > 0 if isinstance(other, ObjectPath) else NotImplemented

    def __ge__(self, other: ObjectPath) -> bool:
        return self.compare_to(other) >= 0 if isinstance(other, ObjectPath) else NotImplemented

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        parts = path_parts(full_name, 2)
        if len(parts) != 2:
            raise InvalidArgument(f"{full_name!r} must be database.object", origin=calling_origin())
        return ObjectPath(*parts)

    def __str__(self) -> str:
        return self.get_full_name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)


class ObjectIdentifier:
    """A whole name: catalog, database and object."""

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._parts = catalog_name, database_name, object_name

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        for name in (catalog_name, database_name, object_name):
            if name is None:
                raise InvalidArgument("a part of a whole name is None", origin=calling_origin())
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        return self._parts[0]

    def get_database_name(self) -> str:
        return self._parts[1]

    def get_object_name(self) -> str:
        return self._parts[2]

    def to_object_path(self) -> ObjectPath:
        return ObjectPath(*self._parts[1:])

    def to_list(self) -> list[str]:
        return list(self._parts)

    def as_serializable_string(self) -> str:
        """As SQL can write it whatever its parts are."""
        return ".".join(f"`{part.replace('`', '``')}`" for part in self._parts)

    def as_summary_string(self) -> str:
        return ".".join(self._parts)

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)
