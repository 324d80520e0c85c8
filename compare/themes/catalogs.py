"""Catalogs from Python: partitions, statistics, tables, functions, paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compare.case import Case, Outcome, Session
from compare.expression_cases import value_of
from compare.texts import read_texts

_ONE_ROW = "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
_T = (
    "CREATE TABLE t (a INT NOT NULL, b STRING, PRIMARY KEY (a) NOT ENFORCED)"
    f" COMMENT 'said' {_ONE_ROW}"
)
_PARTS = (
    "CREATE TABLE parts (a INT, p STRING, q STRING) PARTITIONED BY (p, q)"
    " WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')"
)
_TIMED = (
    "CREATE TABLE timed (a INT, b STRING, c AS a + 1, ts TIMESTAMP(3),"
    " WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, CONSTRAINT k PRIMARY KEY (a, b) NOT ENFORCED)"
    f" {_ONE_ROW}"
)
_STATEMENTS = (_T, _PARTS, _TIMED, "CREATE VIEW v AS SELECT a, b FROM t")
_NAMES = """
from pyflink.table import DataTypes, Schema
from pyflink.table.catalog import *
path, parts, view, timed = (
    ObjectPath('default_database', name) for name in ('t', 'parts', 'v', 'timed')
)
missing = ObjectPath('default_database', 'missing')
full = CatalogPartitionSpec({'p': '1', 'q': 'x'})
second = CatalogPartitionSpec({'p': '1', 'q': 'y'})
partition = CatalogPartition.create_instance({'k': 'v'}, 'said')
other = CatalogPartition.create_instance({'k': 'w'}, 'said again')
for spec in (full, second, CatalogPartitionSpec({'p': '2', 'q': 'x'})):
    c.create_partition(parts, spec, partition, False)

def figures(s):
    return s.get_row_count(), s.get_field_count(), s.get_total_size(), s.get_raw_data_size()
"""


def cases() -> list[Case]:
    texts = read_texts("catalogs")
    return [Case(name, _evaluate(lines), core=True) for name, lines in texts.items()]


def _evaluate(texts: Sequence[str]) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        """Expressions in turn; the same one may come again after others."""
        tables = session.tables(setup=_STATEMENTS)
        names: dict[str, object] = {"c": tables.get_catalog("default_catalog")}
        exec(_NAMES, names)
        return {f"{n}. {text}": value_of(text, names) for n, text in enumerate(texts, 1)}

    return run
