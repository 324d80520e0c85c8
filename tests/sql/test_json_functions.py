"""Functions of JSON against values and types that Flink 2.3 was seen to give."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.operators.table.compiled import compiled_value
from headrace.sql.expressions import resolve_text

SEEN = [
    ("JSON_VALUE('{\"a\":1}','$.a')", "1", "STRING"),
    ("JSON_VALUE('{\"a\":1}','$.a' RETURNING INTEGER ERROR ON EMPTY ERROR ON ERROR)", 1, "INT"),
    ("JSON_VALUE('{\"a\":1}','$.a' DEFAULT 'x' ON EMPTY DEFAULT 'y' ON ERROR)", "1", "STRING"),
    ("JSON_EXISTS('{\"a\":1}','$.a')", True, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\":1}','$.a' UNKNOWN ON ERROR)", True, "BOOLEAN"),
    ("JSON_QUERY('{\"a\":1}','$')", '{"a":1}', "STRING"),
    ("JSON_STRING(1)", "1", "STRING NOT NULL"),
    ("JSON_VALUE('{\"a\": true}', '$.a')", "true", "STRING"),
    ("JSON_VALUE('{\"a\": 1.50}', '$.a')", "1.50", "STRING"),
    ("JSON_VALUE('{\"a\": 1e2}', '$.a')", "1E+2", "STRING"),
    ("JSON_VALUE('{\"a\": 12345678901234567890123}', '$.a')", "12345678901234567890123", "STRING"),
    ("JSON_VALUE('{\"a\": [1]}', '$.a')", None, "STRING"),
    (
        "JSON_VALUE('{\"a\": [1]}', 'lax $.a' DEFAULT 'e' ON EMPTY DEFAULT 'x' ON ERROR)",
        "e",
        "STRING",
    ),
    (
        "JSON_VALUE('{\"a\": [1]}', 'strict $.a' DEFAULT 'e' ON EMPTY DEFAULT 'x' ON ERROR)",
        "x",
        "STRING",
    ),
    ("JSON_VALUE('{\"a\": [1]}', '$.b' DEFAULT 'e' ON EMPTY DEFAULT 'x' ON ERROR)", "x", "STRING"),
    (
        "JSON_VALUE('{\"a\": [1]}', 'lax $.b' DEFAULT 'e' ON EMPTY DEFAULT 'x' ON ERROR)",
        "e",
        "STRING",
    ),
    ("JSON_VALUE('{\"a\": null}', '$.a' DEFAULT 'e' ON EMPTY DEFAULT 'x' ON ERROR)", "x", "STRING"),
    ("JSON_VALUE('{\"a\": 1}', '$.a' RETURNING INTEGER)", 1, "INT"),
    ("JSON_VALUE('{\"a\": 1.5}', '$.a' RETURNING DOUBLE)", 1.5, "DOUBLE"),
    ("JSON_VALUE('{\"a\": true}', '$.a' RETURNING BOOLEAN)", True, "BOOLEAN"),
    ("JSON_VALUE('{\"a\": 1}', '$.a' RETURNING VARCHAR(3))", "1", "VARCHAR(3)"),
    (
        "JSON_VALUE('{\"a\": 1}', '$.b' RETURNING INTEGER DEFAULT 5 ON EMPTY DEFAULT 7 ON ERROR)",
        7,
        "INT",
    ),
    ("JSON_VALUE('nojson', '$.b' DEFAULT 'x' ON ERROR)", "x", "STRING"),
    ("JSON_VALUE('nojson', 'lax $.b' DEFAULT 'e' ON EMPTY DEFAULT 'x' ON ERROR)", "e", "STRING"),
    ("JSON_VALUE('{\"a.b\": [0.998,0.996]}','$.[\"a.b\"][0]' RETURNING DOUBLE)", 0.998, "DOUBLE"),
    (
        "JSON_VALUE('{\"has blank\": \"right\"}', 'strict $.[''has blank'']' DEFAULT 'x' ON ERROR)",
        "right",
        "STRING",
    ),
    ("JSON_VALUE('[1,2,3]', '$[-1]')", "3", "STRING"),
    ("JSON_VALUE('[1,2,3]', '$[1:]')", None, "STRING"),
    ("JSON_VALUE('[1,2,3]', '$.length()')", "3", "STRING"),
    ("JSON_VALUE('{\"a\":[1,2,3]}', '$.a.sum()')", "6.0", "STRING"),
    ("JSON_VALUE('{\"a\":[1,2,3]}', 'bad path')", None, "STRING"),
    ("JSON_EXISTS('{\"a\": true}', '$.a')", True, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\": null}', '$.a')", False, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\": true}', '$.b')", False, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\": true}', 'strict $.b' TRUE ON ERROR)", True, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\": [{ \"b\": 1 }]}', '$.a[0].b')", True, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\": true}', 'lax $.b')", False, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\": true}', 'strict $.b' UNKNOWN ON ERROR)", None, "BOOLEAN"),
    ("JSON_EXISTS('{\"a\": true}', '$..b')", True, "BOOLEAN"),
    ("JSON_QUERY('{\"a\": { \"b\": 1 } }', '$')", '{"a":{"b":1}}', "STRING"),
    ("JSON_QUERY('[1, 2]', '$')", "[1,2]", "STRING"),
    ('JSON_QUERY(\'{"a":[{"c":"c1"},{"c":"c2"}]}\', \'lax $.a[*].c\')', '["c1","c2"]', "STRING"),
    ('JSON_QUERY(\'{"a":[{"c":"c1"},{"d":"c2"}]}\', \'strict $.a[*].c\')', '["c1"]', "STRING"),
    (
        'JSON_QUERY(\'{"a":[{"c":"c1"},{"c":"c2"}]}\', \'$.a[?(@.c == \'\'c2\'\')]\')',
        '[{"c":"c2"}]',
        "STRING",
    ),
    ('JSON_QUERY(\'{"a":[{"c":1},{"c":2}]}\', \'$.a[?(@.c > 1 && @.c < 5)].c\')', "[2]", "STRING"),
    ("JSON_QUERY('{\"a\":[1.50,1e3]}', '$.a')", "[1.50,1E+3]", "STRING"),
    ('JSON_QUERY(\'{"b":{"z":1,"a":"é/\\u0001"}}\', \'$.b\')', '{"a":"é/\\u0001","z":1}', "STRING"),
    ("JSON_QUERY('1', 'strict $')", None, "STRING"),
    ("JSON_QUERY('1', 'lax $' EMPTY ARRAY ON EMPTY)", "[]", "STRING"),
    ("JSON_QUERY('{\"a\":1}', '$.a' WITH UNCONDITIONAL WRAPPER)", "[1]", "STRING"),
    ("JSON_QUERY('{\"a\":[1]}', '$.a' WITH UNCONDITIONAL WRAPPER)", "[[1]]", "STRING"),
    ("JSON_QUERY('{\"a\":[1]}', '$.x' EMPTY OBJECT ON ERROR)", "{}", "STRING"),
    ("JSON_OBJECT()", "{}", "STRING NOT NULL"),
    ("JSON_OBJECT('K' VALUE CAST(NULL AS STRING) ABSENT ON NULL)", "{}", "STRING NOT NULL"),
    (
        "JSON_OBJECT(KEY 'K' VALUE CAST(1e20 AS DOUBLE), KEY 'K2' VALUE CAST(1e-7 AS DOUBLE))",
        '{"K":1.0E+20,"K2":1.0E-7}',
        "STRING NOT NULL",
    ),
    ("JSON_ARRAY(1, CAST(NULL AS INT) NULL ON NULL)", "[1,null]", "STRING NOT NULL"),
    (
        "JSON_ARRAY(CAST(TIMESTAMP '2020-01-01 10:11:12' AS TIMESTAMP_LTZ(3)))",
        '["2020-01-01T10:11:12Z"]',
        "STRING NOT NULL",
    ),
    ("JSON_STRING('a\"b')", '"a\\"b"', "STRING NOT NULL"),
    ("JSON_STRING(TRUE)", "true", "STRING NOT NULL"),
    ("JSON_STRING(ARRAY[1,NULL])", "[1,null]", "STRING NOT NULL"),
    ("JSON_STRING(MAP['b',1,'a',2])", '{"a":2,"b":1}', "STRING NOT NULL"),
    ("JSON_STRING(CAST(NULL AS INT))", None, "STRING"),
    (
        'JSON_STRING(PARSE_JSON(\'{"b":1,"a":[true,null,"x"]}\'))',
        '{"a":[true,null,"x"],"b":1}',
        "STRING NOT NULL",
    ),
    ("JSON_QUOTE('a/b')", '"a\\/b"', "STRING NOT NULL"),
    ("'{}x' IS JSON", True, "BOOLEAN NOT NULL"),
    ("'1 2' IS JSON", True, "BOOLEAN NOT NULL"),
    ("'nul' IS JSON", False, "BOOLEAN NOT NULL"),
    ("'' IS JSON", False, "BOOLEAN NOT NULL"),
    ("'NaN' IS JSON", False, "BOOLEAN NOT NULL"),
    ("'01' IS JSON", False, "BOOLEAN NOT NULL"),
]
"""The expression, its value, and its type where that was looked at."""


@pytest.mark.parametrize(("text", "value", "type"), SEEN, ids=[row[0] for row in SEEN])
def test_gives_what_flink_gives(text: str, value: Any, type: str | None) -> None:
    expression = resolve_text(text, [])
    assert compiled_value(expression)((0,)) == value
    assert type is None or str(expression.type) == type
