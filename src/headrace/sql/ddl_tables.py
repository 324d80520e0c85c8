"""What CREATE TABLE, with LIKE, makes a table of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from headrace.core import logical_types as lt
from headrace.core.logical_types import Field, LogicalType
from headrace.core.table_connector import CatalogTable, TableColumn, TableSchema, WatermarkText
from headrace.errors import InvalidQuery
from headrace.sql.position import did_you_mean
from headrace.sql.statements import CreateTable, LikeClause, TableParts

TypeOf = Callable[[str, Sequence[Field]], LogicalType]
"""The type of an expression's text over columns."""

_FEATURES = (
    "CONSTRAINTS", "DISTRIBUTION", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS",
)  # fmt: skip
_MAY_OVERWRITE = ("GENERATED", "METADATA", "OPTIONS", "WATERMARKS")


@dataclass
class Draft:
    """A table while its parts are put together."""

    columns: list[TableColumn] = field(default_factory=list)
    watermark: WatermarkText | None = None
    primary_key: tuple[str, ...] | None = None
    primary_key_name: str | None = None
    partition_keys: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    distribution: str | None = None

    @classmethod
    def of(cls, table: CatalogTable) -> Draft:
        schema = table.schema
        return cls(
            list(schema.columns), schema.watermark, schema.primary_key, schema.primary_key_name,
            table.partition_keys, dict(table.options), table.comment, table.distribution,
        )  # fmt: skip

    @property
    def names(self) -> list[str]:
        return [column.field.name for column in self.columns]

    def finished(self, type_of: TypeOf, at: object | None = None) -> CatalogTable:
        """The table, once everything in it has been checked."""
        self._check_names(at)
        self._check_key(at)
        self._type_computed(type_of, at)
        self._check_watermark(type_of, at)
        schema = TableSchema(
            tuple(self.columns), self.watermark, self.primary_key, self.primary_key_name
        )
        return CatalogTable(
            schema, dict(self.options), self.partition_keys, self.comment,
            distribution=self.distribution,
        )  # fmt: skip

    def _check_names(self, at: object | None) -> None:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise InvalidQuery(f"there are two columns {name}", origin=at)
            seen.add(name)
        if not any(column.physical for column in self.columns):
            raise InvalidQuery(
                "a table needs at least one column of its own", origin=at,
                hint="computed columns and metadata alone are no table",
            )  # fmt: skip
        for key in self.partition_keys:
            self.existing(key, "partition key", at)

    def _check_key(self, at: object | None) -> None:
        for name in self.primary_key or ():
            index = self.existing(name, "column of the primary key", at)
            column = self.columns[index]
            if not column.physical:
                raise InvalidQuery(
                    f"{name} is computed or metadata and cannot be in the primary key", origin=at
                )
            changed = replace(column.field, type=column.field.type.not_null())
            self.columns[index] = replace(column, field=changed)

    def _type_computed(self, type_of: TypeOf, at: object | None) -> None:
        stored = [column.field for column in self.columns if column.computed is None]
        for index, column in enumerate(self.columns):
            if column.computed is None:
                continue
            type = _typed(column.computed, stored, type_of, at)
            self.columns[index] = replace(column, field=replace(column.field, type=type))

    def _check_watermark(self, type_of: TypeOf, at: object | None) -> None:
        if self.watermark is None:
            return
        index = self.existing(self.watermark.column.split(".")[0], "column for the watermark", at)
        type = self.columns[index].field.type
        for part in self.watermark.column.split(".")[1:]:
            fields = type.fields if isinstance(type, lt.RowType) else ()
            inner = next((each.type for each in fields if each.name == part), None)
            if inner is None:
                raise InvalidQuery(f"there is no field {self.watermark.column}", origin=at)
            type = inner
        if not isinstance(type, lt.TIMESTAMPS) or type.precision > 3:
            raise InvalidQuery(
                f"the watermark's column {self.watermark.column} has type {type}", origin=at,
                hint="it must be TIMESTAMP or TIMESTAMP_LTZ with a precision of up to 3",
            )  # fmt: skip
        _typed(self.watermark.expression, [each.field for each in self.columns], type_of, at)

    def existing(self, name: str, what: str, at: object | None = None) -> int:
        """The position of a column that must be there."""
        if name not in self.names:
            raise InvalidQuery(
                f"there is no column {name}" + (f" ({what})" if what != "column" else ""),
                origin=at, hint=did_you_mean(name, self.names),
            )  # fmt: skip
        return self.names.index(name)


def _typed(text: str, fields: Sequence[Field], type_of: TypeOf, at: object | None) -> LogicalType:
    try:
        return type_of(text, fields)
    except InvalidQuery as error:
        if error.origin is None:
            error.origin = at
        raise


def draft_of(statement: CreateTable, base: CatalogTable | None) -> Draft:
    """The statement's table, with what LIKE takes over from `base`."""
    draft = Draft() if base is None else _inherited(base, statement)
    strategies = _strategies(statement.like)
    add_parts(draft, statement.parts, strategies, statement.at)
    draft.options = _merged_options(draft, statement, strategies["OPTIONS"])
    if statement.partition_keys:
        _refuse_both(draft.partition_keys, "PARTITIONS", statement.at)
        draft.partition_keys = statement.partition_keys
    if statement.distribution is not None:
        _refuse_both(draft.distribution, "DISTRIBUTION", statement.at)
        draft.distribution = statement.distribution
    draft.comment = statement.comment  # a table's comment is its own
    return draft


def _strategies(like: LikeClause | None) -> dict[str, str]:
    """What happens to each feature: by default all is included, and own options win."""
    found = {"OPTIONS": "OVERWRITING"}
    choices = like.choices if like is not None else ()
    general = "INCLUDING"
    for choice, feature in choices:
        if feature == "ALL":
            general = choice
            found.pop("OPTIONS", None)
            if choice == "INCLUDING":
                found["OPTIONS"] = "OVERWRITING"
        elif choice == "OVERWRITING" and feature not in _MAY_OVERWRITE:
            raise InvalidQuery(
                f"{feature} cannot be overwritten",
                origin=None if like is None else like.at, hint=f"write EXCLUDING {feature}",
            )  # fmt: skip
    found.update({feature: choice for choice, feature in choices if feature != "ALL"})
    return {feature: found.get(feature, general) for feature in _FEATURES}


def _inherited(base: CatalogTable, statement: CreateTable) -> Draft:
    draft = Draft.of(base)
    strategies = _strategies(statement.like)
    without = {feature for feature, choice in strategies.items() if choice == "EXCLUDING"}
    if "CONSTRAINTS" in without:
        draft.primary_key = draft.primary_key_name = None
    if "DISTRIBUTION" in without:
        draft.distribution = None
    if "PARTITIONS" in without:
        draft.partition_keys = ()
    if "WATERMARKS" in without:
        draft.watermark = None
    if "OPTIONS" in without:
        draft.options = {}
    draft.columns = [column for column in draft.columns if _feature(column) not in without]
    return draft


def _feature(column: TableColumn) -> str:
    if column.computed is not None:
        return "GENERATED"
    return "METADATA" if column.metadata is not None else ""


def add_parts(
    draft: Draft, parts: TableParts, strategies: dict[str, str], at: object | None
) -> None:
    """Add columns, watermark and primary key; what is there already may be overwritten only where
    its strategy says so."""
    for part in parts.columns:
        column = part.column
        if column.field.name not in draft.names:
            draft.columns.append(column)
            continue
        index = draft.names.index(column.field.name)
        feature = _feature(column)
        if strategies.get(feature) != "OVERWRITING" or feature != _feature(draft.columns[index]):
            raise InvalidQuery(
                f"there is a column {column.field.name} already", origin=part.at or at,
                hint="write OVERWRITING GENERATED or METADATA to replace it"
                if feature else "give it another name",
            )  # fmt: skip
        draft.columns[index] = column
    if parts.watermark is not None:
        if draft.watermark is not None and strategies.get("WATERMARKS") != "OVERWRITING":
            _refuse_both(draft.watermark, "WATERMARKS", at)
        draft.watermark = parts.watermark
    if parts.primary_key is not None:
        _refuse_both(draft.primary_key, "CONSTRAINTS", at)
        draft.primary_key = parts.primary_key
        draft.primary_key_name = parts.primary_key_name


def _refuse_both(there: object, feature: str, at: object | None) -> None:
    if there:
        raise InvalidQuery(
            f"the table taken over with LIKE has {feature} of its own", origin=at,
            hint=f"write LIKE t (EXCLUDING {feature})",
        )  # fmt: skip


def _merged_options(draft: Draft, statement: CreateTable, strategy: str) -> dict[str, str]:
    if strategy == "INCLUDING":
        for key in statement.options:
            if key in draft.options:
                raise InvalidQuery(
                    f"the table taken over with LIKE has the option {key}", origin=statement.at,
                    hint="write LIKE t (OVERWRITING OPTIONS)",
                )  # fmt: skip
    return {**draft.options, **statement.options}
