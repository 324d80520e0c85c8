"""The one way relations are made, by SQL and by the Table API.

Expressions are handed over unresolved with a `Resolver`, whose `Scope` says which columns names
mean, or resolved. Each part of a query has its function:

| part | function |
|---|---|
| table | `scan`, `watermarked`, `values`, `one_row` |
| SELECT with grouping, OVER, ORDER BY | `select` of a `Selection` |
| WHERE | `filtered`; conditions may have IN and EXISTS |
| columns by position | `projected`, `renamed`, `first_columns`, `with_columns` |
| DISTINCT, aggregation by columns | `distinct`, `aggregated`, `aggregation` |
| windows | `windowed`; `GroupWindowMark` as a key of `aggregated`, by its alias in a `Resolver`'s
  `group_windows`: then WINDOW_START(w), WINDOW_END(w), WINDOW_ROWTIME(w), WINDOW_PROCTIME(w) |
| flat_aggregate | `table_aggregated` |
| OVER | `with_over`, `over` |
| JOIN | `joined`, `temporally_joined`, `laterally_joined`, `correlated` |
| UNION, INTERSECT, EXCEPT | `combined` |
| ORDER BY, LIMIT | `sorted_by` |
| changelogs | `to_changelog`, `from_changelog` |
| INSERT | `insert` of a statement, `inserted` of a relation |
"""

from __future__ import annotations

from headrace.graph.relations import Relation
from headrace.sql import statements as st
from headrace.sql.aggregation import Grouping, aggregated, aggregation
from headrace.sql.catalog_tables import sink_of
from headrace.sql.changelog_functions import from_changelog, to_changelog
from headrace.sql.correlation import correlated, table_call, unnest_call
from headrace.sql.group_windows import of_property, windowed
from headrace.sql.inserting import inserted, written_columns
from headrace.sql.marks import GroupWindowMark
from headrace.sql.over_windows import over, with_over
from headrace.sql.queries import QueryBuilder
from headrace.sql.relations import (
    columns,
    distinct,
    first_columns,
    joined,
    projected,
    renamed,
    restricted,
    temporally_joined,
    unique_names,
    with_columns,
)
from headrace.sql.resolver import Resolver, Surroundings
from headrace.sql.scans import scan, watermarked
from headrace.sql.scope import Range, Scope
from headrace.sql.selection import GroupBy, Selection, select, sorted_by
from headrace.sql.set_operations import combined, one_row, values
from headrace.sql.subqueries import filtered, laterally_joined
from headrace.sql.table_aggregation import table_aggregated

__all__ = [
    "GroupBy",
    "GroupWindowMark",
    "Grouping",
    "QueryBuilder",
    "Range",
    "Resolver",
    "Scope",
    "Selection",
    "Surroundings",
    "aggregated",
    "aggregation",
    "columns",
    "combined",
    "correlated",
    "distinct",
    "filtered",
    "first_columns",
    "from_changelog",
    "insert",
    "inserted",
    "joined",
    "laterally_joined",
    "of_property",
    "one_row",
    "over",
    "projected",
    "renamed",
    "restricted",
    "scan",
    "select",
    "sorted_by",
    "table_aggregated",
    "table_call",
    "temporally_joined",
    "to_changelog",
    "unique_names",
    "unnest_call",
    "values",
    "watermarked",
    "windowed",
    "with_columns",
    "with_over",
    "written_columns",
]


def insert(builder: QueryBuilder, statement: st.Insert) -> Relation:
    """The relation of an INSERT statement."""
    relation = builder.query(statement.query)
    path, table = builder.target(statement.path, statement.options, statement.at)
    resolver = builder.resolver(Scope(()))
    partition = {name: resolver.resolve(node) for name, node in statement.partition.items()}
    return inserted(
        relation,
        path,
        table,
        sink_of(path, table, statement.at),
        names=statement.columns,
        partition=partition,
        overwrite=statement.overwrite,
        conflict=statement.conflict,
        at=statement.at,
    )
