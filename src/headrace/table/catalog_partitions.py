"""Partitions of the tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from headrace.core.table_connector import CatalogTable
from headrace.errors import (
    HeadraceError,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    TableNotExistException,
    TableNotPartitionedException,
)
from headrace.origin import calling_origin
from headrace.sql import catalog as sc
from headrace.table.catalog_objects import CatalogPartition, CatalogPartitionSpec
from headrace.table.object_names import ObjectPath

E = TypeVar("E", bound=HeadraceError)
_COMMENT = "comment"


def missing(kind: type[E], what: str, name: object) -> E:
    return kind(f"there is no {what} {name}", origin=calling_origin())


def present(kind: type[E], what: str, name: object) -> E:
    return kind(f"there is a {what} {name} already", origin=calling_origin())


class PartitionMethods:
    """What a catalog knows of partitions."""

    catalog: sc.Catalog

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The partitions that agree with a part of a specification."""
        self._check_partitioned(table_path)
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        found = self.catalog.partitions(*place_of(table_path))
        return [
            CatalogPartitionSpec(dict(each)) for each in found if wanted.items() <= each.items()
        ]

    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        found = self._partition(table_path, partition_spec)
        if found is None:
            raise missing(PartitionNotExistException, "partition", partition_spec)
        notes = self.catalog.notes(*place_of(table_path))
        return CatalogPartition(found, notes.get((_COMMENT, partition_spec)))

    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        return self._partition(table_path, partition_spec) is not None

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        table = self._check_partitioned(table_path)
        fault = sc.find_partition_fault(table, partition_spec.get_partition_spec())
        if fault is not None:
            raise PartitionSpecInvalidException(
                f"{table_path} has no partition {partition_spec}: {fault}",
                origin=calling_origin(),
                hint="Give a value for each of its columns and for no other.",
            )
        if not self.partition_exists(table_path, partition_spec):
            self._put_partition(table_path, partition_spec, partition)
        elif not ignore_if_exists:
            raise present(PartitionAlreadyExistsException, "partition", partition_spec)

    def drop_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool,
    ) -> None:
        if self.partition_exists(table_path, partition_spec):
            self.catalog.drop_partition(*place_of(table_path), partition_spec.get_partition_spec())
        elif not ignore_if_not_exists:
            raise missing(PartitionNotExistException, "partition", partition_spec)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        if self.partition_exists(table_path, partition_spec):
            self._put_partition(table_path, partition_spec, new_partition)
        elif not ignore_if_not_exists:
            raise missing(PartitionNotExistException, "partition", partition_spec)

    def _partition(self, path: ObjectPath, spec: CatalogPartitionSpec) -> Mapping[str, str] | None:
        if self.catalog.table(*place_of(path)) is None:
            return None
        return self.catalog.partition(*place_of(path), spec.get_partition_spec())

    def _put_partition(
        self, path: ObjectPath, spec: CatalogPartitionSpec, partition: CatalogPartition
    ) -> None:
        kept = partition.get_properties()
        self.catalog.put_partition(*place_of(path), spec.get_partition_spec(), kept)
        self.catalog.notes(*place_of(path))[_COMMENT, spec] = partition.get_comment()

    def _check_partitioned(self, path: ObjectPath) -> sc.CatalogObject:
        """A table that can have partitions; it raises if it cannot."""
        table = self.catalog.table(*place_of(path))
        if table is None:
            raise missing(TableNotExistException, "table", path)
        if not (isinstance(table, CatalogTable) and table.partition_keys):
            raise TableNotPartitionedException(
                f"{path} is not partitioned", origin=calling_origin()
            )
        return table


def place_of(path: ObjectPath) -> tuple[str, str]:
    return path.get_database_name(), path.get_object_name()
