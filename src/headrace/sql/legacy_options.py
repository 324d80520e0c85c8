"""Options of tables as they were written before Flink 1.11: 'connector.type' and its like.

Flink still has one connector that takes them: files of CSV lines, in which nothing is quoted. They
are read and written by the filesystem connector here, with a format of their own.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.table_connector import LEGACY_CSV, CatalogTable
from headrace.errors import HeadraceError, InvalidQuery
from headrace.sql.types import parse_type

_TYPE, _FORMAT, _MODE = "connector.type", "format.type", "update-mode"
_NO_EFFECT = ("connector.property-version", "format.property-version", "format.derive-schema")
_NO_EFFECT_STARTS = ("format.fields.", "schema.")
_BOTH_WAYS = ("format.field-delimiter",)
_READ = (
    "format.line-delimiter",
    "format.quote-character",
    "format.comment-prefix",
    "format.ignore-first-line",
    "format.ignore-parse-errors",
)
_WRITTEN = ("format.write-mode", "format.num-files")


def is_legacy(options: Mapping[str, str]) -> bool:
    return _TYPE in options and "connector" not in options


def modern_options(table: CatalogTable, *, reads: bool, at: object | None) -> dict[str, str]:
    """The options that mean the same today, for one who reads the table or writes it."""
    options = table.options
    kind, form = options[_TYPE], options.get(_FORMAT, "")
    if (kind, form) != ("filesystem", "csv"):
        raise InvalidQuery(
            f"'{_TYPE}' = '{kind}' with '{_FORMAT}' = '{form}' is known no more",
            origin=at,
            hint=f"write 'connector' = '{kind}' and 'format' = '…'; of the older options only "
            f"'{_TYPE}' = 'filesystem' with '{_FORMAT}' = 'csv' is read",
        )
    found = {"connector": "filesystem", "format": LEGACY_CSV}
    taken = (*_BOTH_WAYS, *(_READ if reads else _WRITTEN))
    for key, value in options.items():
        if key == "connector.path":
            found["path"] = value
        elif key in taken:
            found[key] = value
        elif key == _MODE and value != "append":
            raise InvalidQuery(f"'{_MODE}' = '{value}': files are only appended to", origin=at)
        elif key not in (_TYPE, _FORMAT, _MODE, *_NO_EFFECT) and not key.startswith(
            _NO_EFFECT_STARTS
        ):
            raise InvalidQuery(
                f"there is no option '{key}' beside '{_TYPE}' = 'filesystem' for a table that is "
                f"{'read' if reads else 'written'}",
                origin=at,
                hint="write 'connector' = 'filesystem' and today's options",
            )
    _check_fields(table, at)
    return found


def _check_fields(table: CatalogTable, at: object | None) -> None:
    """The format's own fields, if it has any, are the table's columns."""
    columns = [each.field for each in table.schema.columns if each.physical]
    given = _fields(table.options, "format.fields.")
    if not given:
        if table.options.get("format.derive-schema", "true").lower() == "false":
            raise InvalidQuery("'format.derive-schema' = 'false' needs 'format.fields'", origin=at)
        return
    names = [each.get("name") for each in given]
    kinds = [each.get("data-type") or each.get("type") or "" for each in given]
    wanted = [each.type.with_nullable(True) for each in columns]
    if names != [each.name for each in columns] or list(map(_parsed, kinds)) != wanted:
        raise InvalidQuery("'format.fields' are not the columns of the table", origin=at)


def _fields(options: Mapping[str, str], start: str) -> list[dict[str, str]]:
    found: dict[int, dict[str, str]] = {}
    for key, value in options.items():
        number, _, name = key.removeprefix(start).partition(".")
        if key.startswith(start) and number.isdecimal():
            found.setdefault(int(number), {})[name] = value
    return [found[number] for number in sorted(found)]


def _parsed(text: str) -> object:
    try:
        return parse_type(text).with_nullable(True)
    except HeadraceError:
        return None
