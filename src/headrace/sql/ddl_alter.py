"""What ALTER TABLE makes of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.core.table_connector import TableColumn, WatermarkText
from headrace.errors import InvalidQuery
from headrace.sql import statements as st
from headrace.sql.ddl_tables import Draft
from headrace.sql.ddl_text import columns_used, primary_key_name


def alter(draft: Draft, action: object, at: object | None) -> None:
    """Change the draft; renaming the table and its partitions are not the draft's business."""
    if isinstance(action, st.SetOptions):
        draft.options.update(action.options)
    elif isinstance(action, st.ResetOptions):
        _reset(draft, action, at)
    elif isinstance(action, st.RenameColumn):
        _rename(draft, action, at)
    elif isinstance(action, st.DropColumns):
        _drop_columns(draft, action.names, at)
    elif isinstance(action, st.DropPart):
        _drop_part(draft, action, at)
    elif isinstance(action, st.ChangeParts):
        (_modify if action.modify else _add)(draft, action.parts, at)
    else:
        raise TypeError(f"{action!r} changes no table")


def _reset(draft: Draft, action: st.ResetOptions, at: object | None) -> None:
    if "connector" in action.keys:
        raise InvalidQuery(
            "the option connector cannot be reset", origin=at, hint="drop the table instead"
        )
    for key in action.keys:
        draft.options.pop(key, None)


def _readers(draft: Draft, name: str) -> Iterable[str]:
    """What reads a column besides queries."""
    for column in draft.columns:
        if column.computed is not None and name in columns_used(column.computed):
            yield f"the computed column {column.field.name}"
    if draft.watermark is not None:
        used = columns_used(draft.watermark.expression) | {draft.watermark.column.split(".")[0]}
        if name in used:
            yield "the watermark"


def _refuse_used(draft: Draft, name: str, verb: str, at: object | None, ignored: set[str]) -> None:
    found = [each for each in _readers(draft, name) if each not in ignored]
    if found:
        raise InvalidQuery(
            f"the column {name} cannot be {verb}: {found[0]} uses it", origin=at,
            hint=f"change {found[0]} first",
        )  # fmt: skip


def _rename(draft: Draft, action: st.RenameColumn, at: object | None) -> None:
    index = draft.existing(action.old, "column", at)
    if action.new in draft.names:
        raise InvalidQuery(f"there is a column {action.new} already", origin=at)
    _refuse_used(draft, action.old, "renamed", at, set())
    column = draft.columns[index]
    draft.columns[index] = replace(column, field=replace(column.field, name=action.new))
    draft.primary_key = _renamed(draft.primary_key, action)
    draft.partition_keys = _renamed(draft.partition_keys, action) or ()


def _renamed(names: tuple[str, ...] | None, action: st.RenameColumn) -> tuple[str, ...] | None:
    if names is None:
        return None
    return tuple(action.new if name == action.old else name for name in names)


def _drop_columns(draft: Draft, names: tuple[str, ...], at: object | None) -> None:
    gone = {f"the computed column {name}" for name in names}
    for name in names:
        draft.existing(name, "column", at)
        _refuse_used(draft, name, "dropped", at, gone)
        for keys, what in ((draft.primary_key, "primary key"), (draft.partition_keys, "partition")):
            if name in (keys or ()):
                raise InvalidQuery(
                    f"the column {name} cannot be dropped: it is in the {what}", origin=at
                )
    if len(set(names)) < len(names):
        raise InvalidQuery("a column can be dropped only once", origin=at)
    draft.columns = [column for column in draft.columns if column.field.name not in names]


def _drop_part(draft: Draft, action: st.DropPart, at: object | None) -> None:
    if action.what == "watermark":
        _require(draft.watermark, "watermark", at)
        draft.watermark = None
    elif action.what == "distribution":
        _require(draft.distribution, "distribution", at)
        draft.distribution = None
    else:
        _require(draft.primary_key, "primary key", at)
        known = draft.primary_key_name or primary_key_name(draft.primary_key or ())
        if action.name is not None and action.name != known:
            raise InvalidQuery(
                f"there is no constraint {action.name}", origin=at, hint=f"did you mean {known}?"
            )
        draft.primary_key = draft.primary_key_name = None


def _require(there: object, what: str, at: object | None) -> None:
    if not there:
        raise InvalidQuery(f"the table has no {what}", origin=at)


def _add(draft: Draft, parts: st.TableParts, at: object | None) -> None:
    for part in parts.columns:
        if part.column.field.name in draft.names:
            raise InvalidQuery(
                f"there is a column {part.column.field.name} already", origin=part.at or at,
                hint="write MODIFY to change it",
            )  # fmt: skip
        draft.columns.insert(_place(draft, part, len(draft.columns)), part.column)
    _set_rest(draft, parts, at, adding=True)


def _modify(draft: Draft, parts: st.TableParts, at: object | None) -> None:
    for part in parts.columns:
        index = draft.existing(part.column.field.name, "column", part.at or at)
        column = _with_old_comment(part.column, draft.columns.pop(index))
        draft.columns.insert(_place(draft, part, index), column)
    _set_rest(draft, parts, at, adding=False)


def _with_old_comment(column: TableColumn, old: TableColumn) -> TableColumn:
    if column.field.description is not None:
        return column
    return replace(column, field=replace(column.field, description=old.field.description))


def _place(draft: Draft, part: st.ColumnPart, otherwise: int) -> int:
    if part.first:
        return 0
    if part.after is None:
        return otherwise
    return draft.existing(part.after, "column", part.at) + 1


def _set_rest(draft: Draft, parts: st.TableParts, at: object | None, adding: bool) -> None:
    """Watermark, primary key and distribution: added where there is none, modified where there is
    one."""
    wanted: tuple[tuple[str, object, object], ...] = (
        ("watermark", parts.watermark, draft.watermark),
        ("primary key", parts.primary_key, draft.primary_key),
        ("distribution", parts.distribution, draft.distribution),
    )
    for what, new, old in wanted:
        if new is None or bool(old) != adding:
            continue
        message = f"the table has a {what} already" if adding else f"the table has no {what}"
        hint = f"write {'MODIFY' if adding else 'ADD'} instead"
        raise InvalidQuery(message, origin=at, hint=hint)
    draft.watermark = _newer(parts.watermark, draft.watermark)
    if parts.primary_key is not None:
        draft.primary_key, draft.primary_key_name = parts.primary_key, parts.primary_key_name
    draft.distribution = parts.distribution or draft.distribution


def _newer(new: WatermarkText | None, old: WatermarkText | None) -> WatermarkText | None:
    return old if new is None else new
