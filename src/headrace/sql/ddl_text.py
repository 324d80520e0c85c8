"""Tables, views and catalogs as the statements that would create them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.core import logical_types as lt
from headrace.core.table_connector import CatalogTable, TableColumn
from headrace.sql.catalog import CatalogView
from headrace.sql.catalog_manager import FoundTable
from headrace.sql.dialect import parse_expression, tokens
from headrace.sql.nodes import CompoundName

_NO_SPACE_BEFORE = frozenset(
    (TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT, TokenType.R_BRACKET, TokenType.L_BRACKET)
)
_NO_SPACE_AFTER = frozenset((TokenType.L_PAREN, TokenType.DOT, TokenType.L_BRACKET))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quoted_path(path: Iterable[str]) -> str:
    return ".".join(map(quoted, path))


def text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def type_text(type: lt.LogicalType) -> str:
    """The type written out, without its nullability unless it is NOT NULL."""
    text = _plain(lt.materialized(type))
    return text if type.nullable else f"{text} NOT NULL"


def _plain(type: lt.LogicalType) -> str:
    if isinstance(type, lt.VarCharType):
        return f"VARCHAR({type.length})"
    if isinstance(type, lt.VarBinaryType):
        return f"VARBINARY({type.length})"
    if isinstance(type, lt.LocalZonedTimestampType):
        return f"TIMESTAMP({type.precision}) WITH LOCAL TIME ZONE"
    if isinstance(type, lt.ArrayType):
        return f"ARRAY<{type_text(type.element)}>"
    if isinstance(type, lt.MultisetType):
        return f"MULTISET<{type_text(type.element)}>"
    if isinstance(type, lt.MapType):
        return f"MAP<{type_text(type.key)}, {type_text(type.value)}>"
    if isinstance(type, lt.RowType):
        return f"ROW<{', '.join(map(_field_text, type.fields))}>"
    return type.name()


def _field_text(field: lt.Field) -> str:
    comment = "" if field.description is None else " " + text_literal(field.description)
    return f"{quoted(field.name)} {type_text(field.type)}{comment}"


def columns_used(expression: str) -> set[str]:
    """Names of the columns that an expression's text reads."""
    tree = parse_expression(expression)
    return {name.expressions[0].name for name in tree.find_all(CompoundName)}


def expression_text(expression: str) -> str:
    """An expression with quoted names, upper-case words and single spaces."""
    tree = parse_expression(expression)
    names = {
        part.meta["start"]
        for name in tree.find_all(CompoundName)
        for part in name.expressions
        if isinstance(part, exp.Identifier)
    }
    parts: list[str] = []
    before: Token | None = None
    for token in tokens(expression):
        if before is not None and _spaced(before, token, names):
            parts.append(" ")
        parts.append(_token_text(expression, token, names))
        before = token
    return "".join(parts)


def _token_text(expression: str, token: Token, names: set[int]) -> str:
    if token.start in names:
        return quoted(token.text)
    text = expression[token.start : token.end + 1]
    return text.upper() if token.token_type == TokenType.VAR else text


def _spaced(before: Token, token: Token, names: set[int]) -> bool:
    if before.token_type in _NO_SPACE_AFTER or token.token_type in _NO_SPACE_BEFORE:
        return False
    called = before.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    adjacent = before.end + 1 == token.start
    if token.token_type == TokenType.L_PAREN and called and before.start not in names:
        return not adjacent
    # A sign before a number or a name stays with it, as it was written.
    return not (before.token_type == TokenType.DASH and adjacent)


def create_table_text(found: FoundTable, table: CatalogTable) -> str:
    kind = "TEMPORARY TABLE" if found.temporary else "TABLE"
    schema = table.schema
    parts = [_column_text(column) for column in schema.columns]
    if schema.watermark is not None:
        mark = schema.watermark
        column = quoted_path(mark.column.split("."))
        parts.append(f"WATERMARK FOR {column} AS {expression_text(mark.expression)}")
    if schema.primary_key:
        name = schema.primary_key_name or primary_key_name(schema.primary_key)
        keys = ", ".join(map(quoted, schema.primary_key))
        parts.append(f"CONSTRAINT {quoted(name)} PRIMARY KEY ({keys}) NOT ENFORCED")
    body = ",\n".join(f"  {part}" for part in parts)
    return _lines(f"CREATE {kind} {quoted_path(found.path)} (\n{body}\n)", *_clauses(table))


def _lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def primary_key_name(columns: Sequence[str]) -> str:
    """What Flink calls a primary key without a name."""
    return f"PK_{'_'.join(columns)}"


def _column_text(column: TableColumn) -> str:
    field = column.field
    text = quoted(field.name)
    if column.computed is not None:
        text += f" AS {expression_text(column.computed)}"
    else:
        text += f" {type_text(field.type)}"
    if column.metadata is not None:
        text += " METADATA"
        if column.metadata != field.name:
            text += f" FROM {text_literal(column.metadata)}"
        text += " VIRTUAL" if column.virtual else ""
    if field.description:
        text += f" COMMENT {text_literal(field.description)}"
    return text


def _clauses(table: CatalogTable) -> list[str]:
    found = []
    if table.comment:
        found.append(f"COMMENT {text_literal(table.comment)}")
    if table.distribution:
        found.append(f"DISTRIBUTED {distribution_text(table.distribution)}")
    if table.partition_keys:
        found.append(f"PARTITIONED BY ({', '.join(map(quoted, table.partition_keys))})")
    if table.options:
        found.append(f"WITH (\n{_option_lines(table.options)}\n)")
    return found


def _option_lines(options: Mapping[str, str]) -> str:
    return ",\n".join(
        f"  {text_literal(key)} = {text_literal(value)}" for key, value in sorted(options.items())
    )


def distribution_text(distribution: str) -> str:
    """BY HASH(`a`) INTO 4 BUCKETS, with its names quoted."""
    parts: list[str] = []
    inside = False
    before: Token | None = None
    for token in tokens(distribution):
        if token.token_type == TokenType.L_PAREN:
            inside = True
        elif token.token_type == TokenType.R_PAREN:
            inside = False
        is_name = token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
        text = quoted(token.text) if inside and is_name else token.text.upper()
        glued = before is None or token.token_type in _NO_SPACE_BEFORE
        glued = glued or (before is not None and before.token_type in _NO_SPACE_AFTER)
        if not glued and not (token.token_type == TokenType.L_PAREN and parts[-1] != "BY"):
            parts.append(" ")
        parts.append(text)
        before = token
    return "".join(parts)


def create_view_text(found: FoundTable, view: CatalogView) -> str:
    kind = "TEMPORARY VIEW" if found.temporary else "VIEW"
    names = ",\n".join(f"  {quoted(column.field.name)}" for column in view.schema.columns)
    lines = [f"CREATE {kind} {quoted_path(found.path)} (\n{names}\n)"]
    if view.comment:
        lines.append(f"COMMENT {text_literal(view.comment)}")
    lines.append(f"AS {view.query}")
    return _lines(*lines)


def create_catalog_text(name: str, options: Mapping[str, str], comment: str | None) -> str:
    lines = [f"CREATE CATALOG {quoted(name)}"]
    if comment:
        lines.append(f"COMMENT {text_literal(comment)}")
    if options:
        lines.append(f"WITH (\n{_option_lines(options)}\n)")
    return _lines(*lines)
