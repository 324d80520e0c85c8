"""Relations as text: a tree with a line for each, as EXPLAIN shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from headrace.core.expressions import AggregateCall, Expression, SortKey
from headrace.graph.relations import Insert, LookupJoin, Relation, Scan, Values, Window
from headrace.plan.relational.changelog import Traits

_NOT_SHOWN = frozenset(
    {"schema", "hints", "written", "input", "left", "right", "branches", "settings"}
)
_QUIET = frozenset({"source", "sink", "stream", "converter", "accepted"})


def tree(relation: Relation, note: Callable[[Relation], str] = lambda _: "") -> str:
    """A line for each relation, those it reads below and indented; `note` adds to the lines."""
    lines: list[str] = []
    _write(relation, 0, lines, note)
    return "\n".join(lines)


def _write(
    relation: Relation, depth: int, lines: list[str], note: Callable[[Relation], str]
) -> None:
    mark = "" if depth == 0 else "   " * (depth - 1) + "+- "
    lines.append(f"{mark}{line(relation)}{note(relation)}")
    below: Sequence[Relation] = relation.inputs
    if isinstance(relation, LookupJoin):
        below = (*below, relation.table)
    for each in below:
        _write(each, depth + 1, lines, note)


def line(relation: Relation) -> str:
    """One relation with its parameters and the names of its columns."""
    names = f"[{', '.join(relation.names)}]"
    parts = [f"{name}={text}" for name, text in _parameters(relation)]
    hints = [f"hints=[{', '.join(f'{n}({chr(44).join(a)})' for n, a in relation.hints)}]"]
    shown = [*parts, f"fields={names}", *(hints if relation.hints else [])]
    return f"{type(relation).__name__}({', '.join(shown)})"


def _parameters(relation: Relation) -> list[tuple[str, str]]:
    if isinstance(relation, Scan):
        return [("table", ".".join(relation.path))]
    if isinstance(relation, Values):
        return [("rows", str(len(relation.rows)))]
    if isinstance(relation, Insert):
        key = relation.primary_key
        shown = [("table", ".".join(relation.path))]
        return shown if key is None else [*shown, ("primary_key", _text(key))]
    found = []
    for each in fields(relation):
        value = getattr(relation, each.name)
        if each.name in _NOT_SHOWN or each.name in _QUIET or isinstance(value, Relation):
            continue
        if value is None or value is False or value == ():
            continue
        found.append((each.name, _text(value)))
    return found


def _text(value: Any) -> str:
    if isinstance(value, Expression | AggregateCall | SortKey):
        return str(value)
    if isinstance(value, Window):
        return _window(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)


def _window(window: Window) -> str:
    parts = [f"size={window.size}"]
    parts += [f"slide={window.slide}"] * bool(window.slide)
    parts += [f"offset={window.offset}"] * bool(window.offset)
    parts += [f"partition={list(window.partition)}"] * bool(window.partition)
    return f"{window.kind}({', '.join(parts)})"


def abstract_syntax_tree(relation: Relation) -> str:
    return f"== Abstract Syntax Tree ==\n{tree(relation)}\n"


def physical_plan(relation: Relation, known: Traits, *, advice: bool = False) -> str:
    """The optimized relations with the changelog of each; there is no advice to give."""

    def note(each: Relation) -> str:
        if each not in known:
            return ""
        changes = known[each]
        extra = ", normalize=[true]" * changes.normalize
        extra += ", upsertMaterialize=[true]" * changes.materialize
        return f", changelogMode=[{str(changes.mode).strip('[]')}]{extra}"

    if advice:
        head, end = " With Advice", "\nNo available advice...\n"
    else:
        head, end = "", ""
    return f"== Optimized Physical Plan{head} ==\n{tree(relation, note)}\n{end}"
