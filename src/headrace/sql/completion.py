"""What could be written next at a place in a SQL text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from headrace.errors import HeadraceError
from headrace.sql.catalog import CatalogView
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.ddl_session import Session
from headrace.sql.ddl_text import quoted
from headrace.sql.keywords import RESERVED

_STATEMENTS = (
    "ALTER", "ANALYZE", "BEGIN STATEMENT SET", "CALL", "CREATE", "DELETE FROM", "DESCRIBE", "DROP",
    "EXECUTE", "EXPLAIN", "INSERT INTO", "INSERT OVERWRITE", "LOAD MODULE", "RESET", "SELECT",
    "SET", "SHOW", "STOP JOB", "TRUNCATE TABLE", "UNLOAD MODULE", "UPDATE", "USE", "VALUES", "WITH",
)  # fmt: skip
_CLAUSES = (
    "AND", "AS", "BETWEEN", "CASE", "CAST", "CROSS JOIN", "DISTINCT", "ELSE", "END", "EXCEPT",
    "EXISTS", "FOR SYSTEM_TIME AS OF", "FROM", "FULL JOIN", "GROUP BY", "HAVING", "IN",
    "INNER JOIN", "INTERSECT", "INTERVAL", "IS NOT NULL", "IS NULL", "JOIN", "LATERAL TABLE",
    "LEFT JOIN", "LIKE", "LIMIT", "MATCH_RECOGNIZE", "NOT", "NULL", "OFFSET", "ON", "OR",
    "ORDER BY", "OVER", "PARTITION BY", "RIGHT JOIN", "SELECT", "THEN", "UNION ALL", "UNNEST",
    "USING", "VALUES", "WHEN", "WHERE", "WITH",
)  # fmt: skip
_KINDS = {
    "SHOW": ("CATALOGS", "COLUMNS FROM", "CREATE TABLE", "CREATE VIEW", "CURRENT CATALOG",
             "CURRENT DATABASE", "DATABASES", "FULL MODULES", "FUNCTIONS", "JOBS", "MODULES",
             "PARTITIONS", "PROCEDURES", "TABLES", "USER FUNCTIONS", "VIEWS"),
    "CREATE": ("CATALOG", "DATABASE", "FUNCTION", "OR REPLACE TABLE", "TABLE", "TEMPORARY FUNCTION",
               "TEMPORARY SYSTEM FUNCTION", "TEMPORARY TABLE", "TEMPORARY VIEW", "VIEW"),
    "ALTER": ("CATALOG", "DATABASE", "FUNCTION", "TABLE", "VIEW"),
    "DROP": ("CATALOG", "DATABASE", "FUNCTION", "TABLE", "TEMPORARY TABLE", "TEMPORARY VIEW",
             "VIEW"),
    "EXPLAIN": ("CHANGELOG_MODE", "ESTIMATED_COST", "JSON_EXECUTION_PLAN", "PLAN FOR",
                "PLAN_ADVICE", "STATEMENT SET"),
}  # fmt: skip
_BEFORE_TABLES = frozenset(
    ("FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "VIEW", "DESCRIBE", "DESC", "LIKE", "UPDATE",
     "COLUMNS", "PARTITIONS")
)  # fmt: skip
_WORD = re.compile(r"(?:`(?:[^`]|``)*`?|[\w$])*\Z")
_NAME = re.compile(r"`((?:[^`]|``)*)`|([\w$]+)")


def completion_hints(session: Session, text: str, position: int | None = None) -> list[str]:
    """Words and names that fit at `position` (the end if None), in alphabetical order."""
    before = text if position is None else text[:position]
    started = _match(_WORD, before)
    rest = before[: len(before) - len(started)]
    # The word that is being written is no name yet.
    candidates = _candidates(session, rest + text[len(before) :], rest)
    wanted = started.strip("`").lower()
    found = {each for each in candidates if each.strip("`").lower().startswith(wanted)}
    return sorted(found)


def _match(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return "" if found is None else found.group()


def _candidates(session: Session, text: str, rest: str) -> Iterable[str]:
    """What fits behind `rest`, whatever it starts with."""
    if rest.endswith("."):
        return _behind_dot(session, text, rest)
    words = _words(rest)
    last = words[-1].upper() if words else ""
    statement = rest.rpartition(";")[2]
    if not statement.strip():
        return _STATEMENTS
    if last in _KINDS and len(_words(statement)) == 1:
        return _KINDS[last]
    if last == "CATALOG":
        return _names(session.manager.catalogs())
    if last in ("USE", "DATABASE"):
        return [*_databases(session.manager), *(["CATALOG", "MODULES"] if last == "USE" else [])]
    if last in _BEFORE_TABLES:
        return _tables(session.manager)
    return [*_columns(session, text), *_functions(session), *_CLAUSES]


def _words(text: str) -> list[str]:
    return [match.group(1) or match.group(2) for match in _NAME.finditer(text)]


def _names(names: Iterable[str]) -> list[str]:
    """Names as they must be written."""
    return [name if _is_plain(name) else quoted(name) for name in names]


def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", name) is not None and name.upper() not in RESERVED


def _databases(manager: CatalogManager) -> list[str]:
    return _names([*manager.catalog().databases(), *manager.catalogs()])


def _tables(manager: CatalogManager) -> list[str]:
    return [*_names(manager.tables()), *_databases(manager)]


def _functions(session: Session) -> list[str]:
    return [*session.builtin_names(), *_names(session.functions.names())]


def _behind_dot(session: Session, text: str, rest: str) -> list[str]:
    """Behind a catalog its databases, behind a database its tables, behind a table its columns."""
    manager = session.manager
    path = _path(rest)
    found: list[str] = []
    if len(path) == 1 and manager.has_catalog(path[0]):
        found += manager.catalog(path[0]).databases()
    if len(path) <= 2 and _has_database(manager, path):
        found += manager.tables(path)
    table = _aliases(text).get(path[-1], path)
    return _names([*found, *_column_names(session, table)])


def _path(rest: str) -> tuple[str, ...]:
    parts: list[str] = []
    end = len(rest)
    for match in reversed(list(_NAME.finditer(rest))):
        if rest[match.end() : end] != ".":
            break
        parts.append((match.group(1) or "").replace("``", "`") or match.group(2) or "")
        end = match.start()
    return tuple(reversed(parts)) or ("",)


def _has_database(manager: CatalogManager, path: tuple[str, ...]) -> bool:
    catalog, name = manager.database_path(path)
    return manager.has_catalog(catalog) and manager.catalog(catalog).database(name) is not None


_TABLE = re.compile(
    r"\b(?:FROM|JOIN|INTO|TABLE)\s+((?:`[^`]+`|[\w$]+)(?:\.(?:`[^`]+`|[\w$]+))*)"
    r"(?:\s+(?:AS\s+)?(`[^`]+`|[\w$]+))?",
    re.IGNORECASE,
)


def _aliases(text: str) -> dict[str, tuple[str, ...]]:
    """The tables a text mentions, by alias and by name. The text is not finished, so it cannot be
    parsed."""
    found: dict[str, tuple[str, ...]] = {}
    for path, alias in _TABLE.findall(text):
        parts = tuple(_words(path))
        found[parts[-1]] = parts
        if alias and alias.upper() not in RESERVED:
            found[alias.strip("`")] = parts
    return found


def _columns(session: Session, text: str) -> list[str]:
    aliases = _aliases(text)
    columns = [name for path in aliases.values() for name in _column_names(session, path)]
    return _names([*columns, *aliases])


def _column_names(session: Session, path: tuple[str, ...]) -> Sequence[str]:
    if not 1 <= len(path) <= 3:
        return []
    try:
        found = session.manager.find_table(path)
    except HeadraceError:  # a catalog that cannot be read must not stop the typing
        return []
    if found is None or (isinstance(found.table, CatalogView) and not found.table.schema.columns):
        return []
    return [column.field.name for column in found.table.schema.columns]
