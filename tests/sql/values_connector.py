"""A connector for tests: rows of a table are those of a case, what is written becomes text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from headrace.connectors.tables.rows import RowsByKey
from headrace.connectors.tables.sinks import PrintSink
from headrace.core.given_values import from_python
from headrace.core.logical_types import (
    STRING,
    ArrayType,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader, SplitSpec
from headrace.core.table_connector import (
    APPEND,
    KIND_TEXTS,
    RETRACT,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
    TableSource,
)
from headrace.operators.functions.casting import conversion
from headrace.sql.types import parse_type

Row = tuple[Any, ...]


class Parts(Source[Row], SplitEnumerator, SplitReader[Row]):
    """Rows in parts, one for each micro-batch."""

    def __init__(self, parts: list[list[Row]]):
        self.parts = parts

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return self

    def create_reader(self) -> SplitReader[Row]:
        return self

    def splits(self) -> list[Split]:
        return [Split("rows")]

    def latest_position(self, split: Split, start: Any) -> int:
        return min(start + 1, len(self.parts))

    def read(self, split: Split, start: Any, end: Any) -> list[Row]:
        return [row for part in self.parts[start:end] for row in part]


def internal(value: Any, type: LogicalType) -> Any:
    """A value of a case's JSON in internal form."""
    if isinstance(value, dict):
        if "$type" in value:
            value = value["$value"]
        elif "$row" in value:
            value = value["$row"]
        elif "$map" in value:
            value = (
                {_hashable(k): v for k, v in value["$map"]}
                if not isinstance(value["$map"], dict)
                else value["$map"]
            )
    if value is None:
        return None
    match type:
        case TimestampType() | LocalZonedTimestampType() | DateType() | TimeType():
            return _moment(value, type)
        case DecimalType():
            return from_python(type)(Decimal(str(value)))
        case ArrayType(element=element):
            return tuple(internal(part, element) for part in value)
        case MapType(key=key, value=inner):
            return {internal(k, key): internal(v, inner) for k, v in value.items()}
        case MultisetType(element=element):
            return {internal(k, element): v for k, v in value.items()}
        case RowType(fields=fields):
            return tuple(internal(part, f.type) for part, f in zip(value, fields, strict=True))
    convert = from_python(type)
    return value if convert is None else convert(value)


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _moment(value: Any, type: LogicalType) -> Any:
    if isinstance(value, int | float):
        if isinstance(type, TimestampType | LocalZonedTimestampType):
            return int(value) * 1_000_000
        return value
    text = value.replace("T", " ").removesuffix("Z")
    if re.fullmatch(r".* \d\d:\d\d", text):
        text += ":00"
    if isinstance(type, LocalZonedTimestampType):
        type = TimestampType(type.precision)
    return conversion(STRING, type)(text)


PHASE = [0]
"""Which part of the cases' rows is read now: look-ups see the table as it is then."""


class PhasedLookup:
    def __init__(self, parts: list[RowsByKey]):
        self.parts = parts

    def __call__(self, key: Row) -> list[Row]:
        return self.parts[PHASE[0]](key)


@dataclass(frozen=True)
class CaseSource(TableSource):
    parts: tuple[tuple[Row, ...], ...]
    width: int
    changelog: ChangelogMode = APPEND
    lookups: bool = False
    readable: Mapping[str, LogicalType] = field(default_factory=dict)
    columns: tuple[int, ...] | None = None
    before: int = 0
    """How many rows come before the job is stopped and restored."""
    makes_watermarks = True

    def _chosen(self) -> list[list[Row]]:
        columns = range(self.width) if self.columns is None else self.columns
        return [[(row[0], *(row[at + 1] for at in columns)) for row in part] for part in self.parts]

    def reader(self) -> SplitSpec:
        return SplitSpec(Parts(self._chosen()))

    def lookup(self, keys: tuple[int, ...]) -> Any:
        if not self.lookups:
            return None
        rows = [row for part in self._chosen() for row in part]
        return PhasedLookup(
            [RowsByKey(rows[: self.before], keys), RowsByKey(rows[self.before :], keys)]
        )

    def metadata(self) -> Mapping[str, LogicalType]:
        return self.readable

    def with_metadata(self, keys: tuple[str, ...]) -> TableSource:
        known = list(self.readable)
        columns = (*range(self.width), *(self.width + known.index(key) for key in keys))
        return replace(self, columns=columns)

    def with_projection(self, columns: tuple[int, ...]) -> TableSource:
        inner = range(self.width) if self.columns is None else self.columns
        return replace(self, columns=tuple(inner[at] for at in columns))


@dataclass(frozen=True)
class CaseSink(PrintSink):
    enforced: ChangelogMode | None = None
    has_key: bool = False

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        if self.enforced is not None:
            return self.enforced
        if self.has_key:
            return replace(wanted, updates_before=False, updates_after=True, deletes=True)
        return wanted


def mode_of(text: str | None, *, by_key: bool = False) -> ChangelogMode | None:
    """`I,UA,D` or `ChangelogMode.upsert`."""
    if text is None:
        return None
    named = {
        "ChangelogMode.insertOnly": "I",
        "ChangelogMode.upsert": "I,UA,D",
        "ChangelogMode.all": "I,UB,UA,D",
    }
    if "keyOnlyDeletes" in text:
        text, by_key = "I,UA,D", True
    kinds = set(named.get(text, text).split(","))
    by_key = by_key or text == "ChangelogMode.upsert"
    return ChangelogMode("UB" in kinds, "UA" in kinds, "D" in kinds, deletes_by_key=by_key)


@dataclass(frozen=True)
class ValuesConnector(TableConnector):
    """Tables of cases by name."""

    identifier: str = "values"
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        case = self.tables[options["data-id"]]
        readable = _metadata_types(case.get("options", {}).get("readable-metadata", ""))
        types = (*row.types, *readable.values())
        parts = tuple(
            (_record(each, types),)
            for name in ("rows", "rows_after_restore")
            for each in case.get(name, ())
        )
        given = case.get("options", {})
        mode = mode_of(
            given.get("changelog-mode") or case.get("mode"),
            by_key=given.get("source.produces-delete-by-key") == "true",
        )
        if mode is None and any(each["kind"] != "+I" for each in case.get("rows", ())):
            mode = RETRACT
        return CaseSource(
            parts,
            len(row.types),
            mode or APPEND,
            given.get("disable-lookup", "true") == "false",
            readable,
            before=len(case.get("rows", ())),
        )

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        case = self.tables[options["data-id"]]
        given = case.get("options", {})
        enforced = mode_of(
            given.get("sink-changelog-mode-enforced")
            or given.get("changelog-mode")
            or case.get("mode"),
            by_key=given.get("sink.supports-delete-by-key") == "true",
        )
        return CaseSink(row, enforced=enforced, has_key=table.schema.primary_key is not None)


def _metadata_types(text: str) -> dict[str, LogicalType]:
    pairs = [part.rsplit(":", 1) for part in text.split(",") if part]
    return {name.strip(): parse_type(kind.strip()) for name, kind in pairs}


def _record(given: dict[str, Any], types: tuple[LogicalType, ...]) -> Row:
    kind = KIND_TEXTS.index(given["kind"])
    values = given["row"][: len(types)]
    values += [None] * (len(types) - len(values))
    return (kind, *(internal(value, type) for value, type in zip(values, types, strict=True)))
