"""TO_CHANGELOG and FROM_CHANGELOG: changes as rows, and rows as changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Column, Expression, Literal
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery
from headrace.graph.relations import FromChangelog, Relation, ToChangelog
from headrace.sql import unresolved as un
from headrace.sql.constants import constant_of
from headrace.sql.position import did_you_mean

if TYPE_CHECKING:
    from headrace.sql.resolver import Resolver

CHANGELOG_FUNCTIONS = ("TO_CHANGELOG", "FROM_CHANGELOG")
CHANGES = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")
_PARAMETERS = ("input", "op", "op_mapping", "uid", "on_time")


def changelog_arguments(node: un.Apply) -> dict[str, un.Unresolved]:
    """The arguments by the names of their parameters."""
    named: dict[str, un.Unresolved] = {}
    for position, argument in enumerate(node.arguments):
        name, value = _PARAMETERS[min(position, len(_PARAMETERS) - 1)], argument
        if isinstance(argument, un.NamedArgument):
            if argument.value is None:
                continue
            name, value = argument.name.lower(), argument.value
        named[name] = value
    if not isinstance(named.get("input"), un.TableArgument):
        raise InvalidQuery(
            f"{node.function.upper()} takes a table", origin=node.at,
            hint=f"write {node.function.upper()}(input => TABLE t)",
        )  # fmt: skip
    return named


def changelog_function(
    resolver: Resolver, relation: Relation, node: un.Apply, named: Mapping[str, un.Unresolved]
) -> Relation:
    """The relation of TO_CHANGELOG or FROM_CHANGELOG over its input."""
    table = named["input"]
    assert isinstance(table, un.TableArgument)
    partition = tuple(_position(resolver, each) for each in table.partition_by) or None
    operation = _operation_column(named.get("op"))
    mapping = _mapping(resolver, named.get("op_mapping"))
    if node.function.upper() == "TO_CHANGELOG":
        return to_changelog(relation, operation, mapping, partition, at=node.at)
    return from_changelog(relation, operation, mapping, partition, at=node.at)


def to_changelog(
    relation: Relation,
    operation: str = "op",
    mapping: Mapping[str, str] | None = None,
    partition: tuple[int, ...] | None = None,
    at: object | None = None,
) -> Relation:
    """Changes as rows: their operation's text, then the columns. `mapping` goes from changes,
    perhaps several with commas between, to texts; changes without a text are left out."""
    texts = dict.fromkeys(CHANGES, "") if mapping is None else {}
    operations = [(change, change) for change in texts]
    for changes, text in (mapping or {}).items():
        for change in _split(changes):
            _check_change(change, at)
            operations.append((change, text))
    schema = (Field(operation, lt.STRING.not_null()), *(_plain(each) for each in relation.schema))
    return ToChangelog(
        schema=schema, input=relation, operations=tuple(operations), partition=partition
    )


def from_changelog(
    relation: Relation,
    operation: str = "op",
    mapping: Mapping[str, str] | None = None,
    partition: tuple[int, ...] | None = None,
    at: object | None = None,
) -> Relation:
    """Rows as changes. `mapping` goes from texts, perhaps several with commas between, to changes;
    rows with other texts are left out."""
    if operation not in relation.names:
        raise InvalidQuery(
            f"FROM_CHANGELOG needs a column {operation} with the kind of change", origin=at,
            hint=did_you_mean(operation, relation.names, "name it with op => DESCRIPTOR(column)"),
        )  # fmt: skip
    index = relation.names.index(operation)
    if not isinstance(relation.types[index], lt.CHARACTERS):
        raise InvalidQuery(
            f"{operation} must be a STRING, it is {relation.types[index]}", origin=at
        )
    pairs = mapping or {change: change for change in CHANGES}
    operations = []
    for texts, change in pairs.items():
        _check_change(change, at)
        operations += [(change, text) for text in _split(texts)]
    schema = tuple(
        _plain(each) for position, each in enumerate(relation.schema) if position != index
    )
    return FromChangelog(
        schema=schema, input=relation, operation=index, operations=tuple(operations),
        partition=partition,
    )  # fmt: skip


def _plain(field: Field) -> Field:
    return replace(field, type=lt.materialized(field.type))


def _split(texts: str) -> list[str]:
    return [text.strip() for text in texts.split(",")]


def _check_change(change: str, at: object | None) -> None:
    if change not in CHANGES:
        raise InvalidQuery(
            f"op_mapping has an unknown change {change!r}", origin=at,
            hint=did_you_mean(change, CHANGES, f"changes are {', '.join(CHANGES)}"),
        )  # fmt: skip


def _operation_column(node: un.Unresolved | None) -> str:
    if node is None:
        return "op"
    if not isinstance(node, un.Descriptor) or len(node.names) != 1:
        raise InvalidQuery("op takes DESCRIPTOR(column)", origin=node.at)
    return node.names[0]


def _mapping(resolver: Resolver, node: un.Unresolved | None) -> dict[str, str] | None:
    if node is None:
        return None
    value = _map_value(resolver.resolve(node), node.at)
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise InvalidQuery("op_mapping takes MAP['text', 'text', …]", origin=node.at)
    return value


def _map_value(expression: Expression, at: object | None) -> Any:
    if isinstance(expression, Call) and expression.function.name == "MAP":
        parts: Sequence[Expression] = expression.arguments
        if all(isinstance(part, Literal) for part in parts):
            values = [part.value for part in parts if isinstance(part, Literal)]
            return dict(zip(values[::2], values[1::2], strict=True))
    return constant_of(expression, "op_mapping", at)


def _position(resolver: Resolver, node: un.Unresolved) -> int:
    column = resolver.resolve(node)
    if not isinstance(column, Column):
        raise InvalidQuery("PARTITION BY takes columns here", origin=node.at)
    return column.index
