"""Descriptions of columns as properties, which PyFlink still keeps for programs of long ago.

New programs use `Schema` and `TableDescriptor` of `pyflink.table`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NoReturn

from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin
from headrace.sql.ddl_text import type_text
from headrace.table.data_types import DataType
from headrace.table.table_schema import TableSchema
from headrace.table.type_mapping import logical_type_of

__all__ = ["Rowtime", "Schema"]

_OLD_NAMES = {"SQL_TIMESTAMP": "TIMESTAMP(3)", "SQL_TIME": "TIME(0)", "SQL_DATE": "DATE"}


class Descriptor(ABC):
    """Something that can be written as properties."""

    @abstractmethod
    def to_properties(self) -> dict[str, str]: ...


class Rowtime(Descriptor):
    """Where the event time of rows comes from, and how far it may be out of order."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}

    def to_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        return self._put("timestamps", type="from-field", source=field_name)

    def timestamps_from_source(self) -> Rowtime:
        return self._put("timestamps", type="from-source")

    def timestamps_from_extractor(self, extractor: str) -> NoReturn:
        raise _no_class(extractor)

    def watermarks_periodic_ascending(self) -> Rowtime:
        return self._put("watermarks", type="periodic-ascending")

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """`delay` in milliseconds."""
        return self._put("watermarks", type="periodic-bounded", delay=str(delay))

    def watermarks_from_source(self) -> Rowtime:
        return self._put("watermarks", type="from-source")

    def watermarks_from_strategy(self, strategy: str) -> NoReturn:
        raise _no_class(strategy)

    def _put(self, part: str, type: str, source: str | None = None, delay: str = "") -> Rowtime:
        start = f"rowtime.{part}."
        kept = {key: value for key, value in self._properties.items() if not key.startswith(start)}
        kept[f"{start}type"] = type
        if source is not None:
            kept[f"{start}from"] = source
        if delay:
            kept[f"{start}delay"] = delay
        self._properties = kept
        return self


class Schema(Descriptor):
    """Columns by name and type."""

    def __init__(
        self,
        schema: TableSchema | None = None,
        fields: Mapping[str, DataType | str] | None = None,
        rowtime: Rowtime | None = None,
    ) -> None:
        self._fields: dict[str, dict[str, str]] = {}
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def to_properties(self) -> dict[str, str]:
        return {
            f"schema.{at}.{key}": value
            for at, (name, properties) in enumerate(self._fields.items())
            for key, value in {"name": name, **properties}.items()
        }

    def schema(self, table_schema: TableSchema) -> Schema:
        """These columns and no others."""
        self._fields = {}
        names, types = table_schema.get_field_names(), table_schema.get_field_data_types()
        return self.fields(dict(zip(names, types, strict=True)))

    def field(self, field_name: str, field_type: DataType | str) -> Schema:
        if field_name in self._fields:
            raise InvalidArgument(f"there is a field {field_name} already", origin=calling_origin())
        if isinstance(field_type, str):
            written = _OLD_NAMES.get(field_type, field_type)
        else:
            written = type_text(logical_type_of(field_type))
        self._fields[field_name] = {"data-type": written}
        return self

    def fields(self, fields: Mapping[str, DataType | str]) -> Schema:
        if not isinstance(fields, dict):
            raise TypeMismatch(f"fields are a dict, not {fields!r}", origin=calling_origin())
        for name, type in fields.items():
            self.field(name, type)
        return self

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """The field before is called so by the connector or format."""
        return self._add({"from": origin_field_name})

    def proctime(self) -> Schema:
        """The field before is the processing time."""
        return self._add({"proctime": "true"})

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """The field before is the event time."""
        return self._add(rowtime.to_properties())

    def _add(self, properties: Mapping[str, str]) -> Schema:
        if not self._fields:
            raise InvalidArgument(
                "there is no field that this could be said of",
                origin=calling_origin(),
                hint="Call field() before.",
            )
        self._fields[next(reversed(self._fields))].update(properties)
        return self


def _no_class(name: str) -> Unsupported:
    return Unsupported(
        f"{name} is a class of the JVM, and there is no Flink JVM here",
        origin=calling_origin(),
        hint="Declare the time with WATERMARK FOR in a CREATE TABLE statement.",
    )
