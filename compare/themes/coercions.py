"""What operators make of two types: comparisons, arithmetic, CASE, and what they refuse."""

from __future__ import annotations

from compare.case import NOTHING, Case, query
from compare.expression_cases import expressions
from compare.kinds_of_values import EVERY, Kind
from compare.texts import read_texts

_OPERATORS = ("=", "+", "-", "*", "/")
_OTHERS = (
    "BOOLEAN",
    "INT",
    "BIGINT",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "STRING",
    "BYTES",
    "DATE",
    "TIME(0)",
)
_OTHERS += ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", "INTERVAL DAY TO SECOND(3)", "ARRAY<INT>")
_ROW = (
    "(VALUES (TRUE, 1, '1', DATE '2020-01-01', TIMESTAMP '2020-01-01 10:00:00', TIME '10:00:00',"
    " CAST(1.5 AS DOUBLE))) AS t (b, i, s, d, t, ti, f)"
)
_HIDDEN = ("TIMESTAMP_LTZ(3)", "INTERVAL DAY TO SECOND(3)")  # PyFlink cannot collect them


def cases() -> list[Case]:
    texts = read_texts("coercions")
    edges = texts["edges"]
    return [
        *(_pairs(kind) for kind in EVERY),
        expressions("edges", edges, source=_ROW, core=True),
        expressions("edges in batch mode", edges, source=_ROW, setting=NOTHING.in_batch_mode()),
        expressions("literals", texts["literals"], core=True),
        *_values(),
    ]


def _pairs(kind: Kind) -> Case:
    """A value of the type, and NULL, with one of each kind of types."""
    value = Kind(kind.sql, kind.values[1:2] or kind.values)
    texts = []
    for other in (kind for kind in EVERY if kind.sql in _OTHERS):
        right = f"CAST({'2' if other.values[0] == '0' else other.values[0]} AS {other.sql})"
        texts += [f"v {operator} {right}" for operator in _OPERATORS]
        both = f"COALESCE(v, {right})"
        texts.append(f"CAST({both} AS STRING)" if other.sql in _HIDDEN else both)
    return expressions(f"{kind.sql} and others", texts, source=value.source(), by="n")


def _values() -> list[Case]:
    rows = {
        "int and decimal": "(1), (1.5)",
        "int and text": "(1), ('a')",
        "null first": "(NULL), (1)",
        "texts of two lengths": "('a'), ('bcd')",
        "date and timestamp": "(DATE '2020-01-01'), (TIMESTAMP '2020-01-01 00:00:00')",
        "tiny and big": "(CAST(1 AS TINYINT)), (CAST(2 AS BIGINT))",
        "float and decimal": "(CAST(1 AS FLOAT)), (1.5)",
        "arrays": "(ARRAY[1]), (ARRAY[1.5])",
        "rows": "(1, ROW(1, 'a')), (2, ROW(2, 'bc'))",
        "only null": "(NULL)",
        "boolean and int": "(TRUE), (1)",
    }
    made = [query(f"VALUES of {n}", f"SELECT * FROM (VALUES {v}) AS t") for n, v in rows.items()]
    made.append(query("VALUES of ROW", "SELECT * FROM (VALUES (ROW(1, 'a')), (ROW(2, 'bc'))) AS t"))
    union = [
        query(f"UNION of {n}", "SELECT " + " UNION ALL SELECT ".join(v.strip("()").split("), (")))
        for n, v in rows.items()
        if n not in ("rows", "only null", "tiny and big")
    ]
    return [*made, *union]
