"""What is said of mistakes in a statement: what was expected and what was found, in words."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidQuery
from headrace.sql.parse_statements import parse_script

MISTAKES = [
    ("SELECT k, FROM t", 11, "expected an expression, found FROM"),
    ("SELEC 1", 1, "expected a statement, found SELEC"),
    ("SELECT 1 +", 11, "expected an expression, found the end of the statement"),
    ("SELECT * FORM t", 10, "did not expect FORM here"),
    ("SELECT a b c FROM t", 12, "did not expect c here"),
    ("SELECT (1, 2 FROM t", 14, "expected a comma or a closing parenthesis, found FROM"),
    ("SELECT f(1,) FROM t", 12, 'expected an expression, found ")"'),
    ("SELECT a FROM t GROUP a", 23, "expected BY, found a"),
    ("SELECT a FROM t ORDER a", 23, "expected BY, found a"),
    ("SELECT SUM(a) OVER (PARTITION a) FROM t", 31, "expected BY, found a"),
    ("SELECT CASE WHEN a THEN 1 FROM t", 27, "expected END, found FROM"),
    ("SELECT CAST(a INT) FROM t", 15, "expected AS, found INT"),
    ("SELECT CAST(a AS) FROM t", 17, 'expected a type, found ")"'),
    ("SELECT 'abc FROM t", 8, "the text that starts here does not end"),
    ("SELECT /* abc", 8, "the comment that starts here does not end"),
    ('SELECT "a" FROM t', 8, "expected an expression, found a double quote"),
    ("SELECT a FROM (SELECT b FROM t", 31, "expected a closing parenthesis, found the end"),
    ("SELECT ARRAY[1, 2 FROM t", 19, "expected a comma or a closing bracket, found FROM"),
    ("SELECT a IN 1 FROM t", 13, "expected an opening parenthesis, found 1"),
    ("SELECT ROW(1 2)", 14, "expected a comma or a closing parenthesis, found 2"),
    ("SELECT JSON_VALUE(a) FROM t", 20, 'expected a comma, found ")"'),
    ("SELECT CAST(a AS MAP<INT>) FROM t", 25, 'expected a comma, found ">"'),
    ("SELECT CAST(a AS ARRAY(INT)) FROM t", 23, 'expected "<", found "("'),
    ("SELECT 1)", 9, 'did not expect ")" here'),
    ("INSERT INTO t VALUES (1,, 2)", 25, 'expected an expression, found ","'),
    ("INSERT INTO t (a, b VALUES (1)", 21, "expected a comma or a closing parenthesis, found"),
    ("CREATE TABLE x (a INT,)", 23, 'expected a column\'s name, found ")"'),
    ("CREATE TABLE x (a INT b INT)", 23, "expected a comma or a closing parenthesis, found b"),
    ("CREATE TABLE x (a INT) WITH ('c' 'd')", 34, "expected an equals sign, found 'd'"),
    ("CREATE TABLE x (a INT) WITH ('c'='d'", 37, "expected a comma or a closing parenthesis"),
    ("CREATE TABLE x (PRIMARY KEY a)", 29, "expected an opening parenthesis, found a"),
    ("BEGIN STATEMENT SET INSERT INTO t SELECT 1", 21, "expected a semicolon, found INSERT"),
]


@pytest.mark.parametrize(("text", "column", "message"), MISTAKES)
def test_a_mistake_is_told_in_words(text: str, column: int, message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_script(text)
    assert caught.value.message.startswith(message)
    assert f"at line 1, column {column}\n" in str(caught.value)


def test_a_misspelt_clause_is_guessed() -> None:
    with pytest.raises(InvalidQuery, match="did you mean FROM"):
        parse_script("SELECT * FORM t")
    with pytest.raises(InvalidQuery, match="did you mean WHERE"):
        parse_script("SELECT * FROM t u WEHRE a = 1")
