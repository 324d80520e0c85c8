"""Paths into JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.operators.functions.json_path import PathError, json_path
from headrace.operators.functions.json_text import InvalidJson, parsed, written

STORE = parsed(
    '{"books": [{"title": "A", "price": 8.95, "tags": ["x", "y"]},'
    ' {"title": "B", "price": 12, "isbn": null}], "a b": {"n": 1}}'
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.books[0].title", "A"),
        ("$['books'][1][\"price\"]", 12),
        ("$.books[-1].title", "B"),
        ("$.['a b'].n", 1),
        ("$.books[*].title", ["A", "B"]),
        ("$.books[0,1].price", [Decimal("8.95"), 12]),
        ("$.books[:1].title", ["A"]),
        ("$..title", ["A", "B"]),
        ("$..tags[0]", ["x"]),
        ("$.books[?(@.price > 10)].title", ["B"]),
        ("$.books[?(@.isbn)].title", ["B"]),
        ("$.books[?(!(@.tags))].title", ["B"]),
        ("$.books[?(@.title == 'A' || @.price >= 12)].title", ["A", "B"]),
        ("$.books[?(@.title =~ /a/i && @.price < 10)].title", ["A"]),
        ("$.books[?(@.title in ['B', 'C'])].price", [12]),
        ("$.books[?(@.tags contains 'y')].title", ["A"]),
        ("$.books[?(@.tags size 2)].title", ["A"]),
        ("$.books[*].nothing", []),
        ("$.books.length()", 2),
        ("$.books[*].price.max()", 12.0),
        ("$['books','x']", [{"books": STORE["books"]}]),
        ("$.books[0].*", ["A", Decimal("8.95"), ["x", "y"]]),
        ("lax $.books[1].isbn", None),
    ],
)
def test_finds(path: str, found: Any) -> None:
    assert json_path(path).read(STORE) == found


@pytest.mark.parametrize("path", ["$.nothing", "$.books[9]", "$.books.title", "$.nothing[*].x"])
def test_leads_nowhere(path: str) -> None:
    with pytest.raises(PathError, match="nowhere"):
        json_path(path).read(STORE)


@pytest.mark.parametrize("path", ["$.", "$[", "$[?(@.a ==)]", "$.a.unknown()", "$x"])
def test_invalid_paths_say_where(path: str) -> None:
    with pytest.raises(PathError, match="invalid"):
        json_path(path)


@pytest.mark.parametrize("text", ["", "nul", "{", "[1,]", "01", "NaN", "'a'", "1x"])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(InvalidJson):
        parsed(text)


def test_written_json_has_sorted_keys_and_no_blanks() -> None:
    text = '{"b": [1.50, 1e2, true, null], "a": "\\u0001/\\"é"}'
    assert written(parsed(text)) == '{"a":"\\u0001/\\"é","b":[1.50,1E+2,true,null]}'
