"""Where tables, views and functions are known by name: the interface of catalogs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.table_connector import CatalogTable, TableSchema
from headrace.errors import InvalidArgument

Partition = Mapping[str, str]


@dataclass(frozen=True)
class CatalogDatabase:
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None


@dataclass(frozen=True)
class CatalogView:
    """A query by name. Names in the query mean what they mean in `catalog` and `database`."""

    query: str
    """As it was written."""
    schema: TableSchema
    catalog: str
    database: str
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    relation: Any = None
    """For a view made of a Table by a program: what it is, instead of the text."""
    columns: tuple[str, ...] | None = None
    """The names the view gave to its query's columns; None: their own."""


@dataclass(frozen=True)
class CatalogFunction:
    """A function: the name of its class or Python object, or the object itself."""

    class_name: str
    language: str = "PYTHON"
    function: Any = None
    """A `headrace.core.expressions.UserFunction` that a program registered."""
    options: Mapping[str, str] = field(default_factory=dict)
    resources: tuple[str, ...] = ()


@dataclass(frozen=True)
class CatalogModel:
    """A model: what it takes and gives, and where it is."""

    input_schema: Any
    output_schema: Any
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None


CatalogObject = CatalogTable | CatalogView


class Catalog(ABC):
    """Databases with tables, views and functions.

    Methods that change something are called by `CatalogManager`, which has looked before whether
    the object exists; they raise `InvalidArgument` where that is not so after all.
    """

    def __init__(self, default_database: str = "default", options: Mapping[str, str] | None = None):
        self.default_database = default_database
        self.options: dict[str, str] = dict(options or {})
        self.comment: str | None = None

    def open(self) -> None:
        """Called once before the catalog is used."""

    def close(self) -> None:
        """Called when the catalog is dropped."""

    @abstractmethod
    def databases(self) -> Sequence[str]: ...

    @abstractmethod
    def database(self, name: str) -> CatalogDatabase | None: ...

    @abstractmethod
    def put_database(self, name: str, database: CatalogDatabase) -> None:
        """Create it, or change what it is."""

    @abstractmethod
    def drop_database(self, name: str) -> None:
        """Drop it with everything in it."""

    @abstractmethod
    def tables(self, database: str) -> Sequence[str]:
        """Names of tables and views."""

    @abstractmethod
    def table(self, database: str, name: str) -> CatalogObject | None: ...

    @abstractmethod
    def put_table(self, database: str, name: str, table: CatalogObject) -> None: ...

    @abstractmethod
    def drop_table(self, database: str, name: str) -> None: ...

    def rename_table(self, database: str, old: str, new: str) -> None:
        table = self.table(database, old)
        if table is None:
            raise InvalidArgument(f"there is no table {database}.{old}")
        partitions = [
            (each, self.partition(database, old, each) or {})
            for each in self.partitions(database, old)
        ]
        self.put_table(database, new, table)
        for partition, properties in partitions:
            self.put_partition(database, new, partition, properties)
        self.drop_table(database, old)

    def views(self, database: str) -> Sequence[str]:
        return [
            name
            for name in self.tables(database)
            if isinstance(self.table(database, name), CatalogView)
        ]

    @abstractmethod
    def functions(self, database: str) -> Sequence[str]: ...

    @abstractmethod
    def function(self, database: str, name: str) -> CatalogFunction | None:
        """By a name in lower case."""

    @abstractmethod
    def put_function(self, database: str, name: str, function: CatalogFunction) -> None: ...

    @abstractmethod
    def drop_function(self, database: str, name: str) -> None: ...

    def partitions(self, database: str, table: str) -> Sequence[Partition]:
        return []

    def partition(
        self, database: str, table: str, partition: Partition
    ) -> Mapping[str, str] | None:
        """The properties of a partition; None if there is none."""
        return None

    def put_partition(
        self, database: str, table: str, partition: Partition, properties: Mapping[str, str]
    ) -> None:
        raise InvalidArgument("the catalog keeps no partitions")

    def drop_partition(self, database: str, table: str, partition: Partition) -> None:
        raise InvalidArgument("the catalog keeps no partitions")

    def procedures(self, database: str) -> Sequence[str]:
        return []

    def procedure(self, database: str, name: str) -> Any:
        """Something to call with the arguments, that gives rows; None if there is none."""
        return None

    def models(self, database: str) -> Sequence[str]:
        return []

    def model(self, database: str, name: str) -> CatalogModel | None:
        return None

    def put_model(self, database: str, name: str, model: CatalogModel) -> None:
        raise InvalidArgument("the catalog keeps no models")

    def drop_model(self, database: str, name: str) -> None:
        raise InvalidArgument("the catalog keeps no models")

    def notes(self, database: str, table: str) -> dict[Any, Any]:
        """What programs say of a table beside what it is: statistics, comments of partitions. Here
        nobody keeps it."""
        return {}


_ANONYMOUS = "*anonymous_"


def anonymous_name(what: str, number: int) -> str:
    """What a table is called that has no name: as in Flink."""
    return f"{_ANONYMOUS}{what}${number}*"


def is_anonymous(path: Sequence[str]) -> bool:
    """Whether a table has no name that others could call it by."""
    return path[-1].startswith(_ANONYMOUS)


def find_partition_fault(
    table: CatalogObject, partition: Partition, *, partial: bool = False
) -> str | None:
    """Why a table can have no such partition; None if it can. `partial`: some keys suffice."""
    keys = table.partition_keys if isinstance(table, CatalogTable) else ()
    if not keys:
        return "the table is not partitioned"
    if set(partition) == set(keys) or (partial and set(partition) <= set(keys)):
        return None
    given = ", ".join(partition) or "nothing"
    return f"it is partitioned by {', '.join(keys)}, the partition says {given}"
