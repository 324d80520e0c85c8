"""What is offered while SQL is typed."""

from __future__ import annotations

import pytest

from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.completion import completion_hints
from headrace.sql.ddl import Session, run
from headrace.sql.parse_statements import parse_script


@pytest.fixture(scope="module")
def session() -> Session:
    found = Session.of(CatalogManager(), builtin_names=lambda: ("ABS", "ARRAY_AGG"))
    script = """
        CREATE TABLE orders (id INT, price DOUBLE, `order` STRING);
        CREATE TABLE customers (id INT, name STRING);
        CREATE DATABASE archive; CREATE TABLE archive.former (was INT);
    """
    for statement in parse_script(script):
        run(found, statement)
    return found


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("SEL", ["SELECT"]),
        ("SELECT 1; INS", ["INSERT INTO", "INSERT OVERWRITE"]),
        ("SHOW CR", ["CREATE TABLE", "CREATE VIEW"]),
        ("SELECT * FROM or", ["orders"]),
        ("SELECT * FROM archive.", ["former"]),
        ("SELECT * FROM default_catalog.archive.f", ["former"]),
        ("INSERT INTO cust", ["customers"]),
        ("SELECT pr| FROM orders", ["price"]),
        ("SELECT o.| FROM orders AS o", ["`order`", "id", "price"]),
        ("SELECT `or| FROM orders", ["OR", "ORDER BY", "`order`", "orders"]),
        ("SELECT ab", ["ABS"]),
        ("SELECT a FROM orders WHE", ["WHEN", "WHERE"]),
        ("USE CATALOG de", ["default_catalog"]),
        ("USE arc", ["archive"]),
        ("SELECT x.| FROM nope AS x", []),
    ],
)
def test_offers(session: Session, text: str, offered: list[str]) -> None:
    position = text.find("|")
    hints = completion_hints(session, text.replace("|", ""), None if position < 0 else position)
    assert hints == offered
