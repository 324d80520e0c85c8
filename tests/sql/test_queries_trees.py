"""Queries and what becomes of them, as text: the files in trees/ have a query and its tree each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.plan.relational.changelog import annotated
from headrace.plan.relational.explain import physical_plan
from tests.sql.planning import Planning, sample, shown

FOLDER = Path(__file__).parent / "trees"
PLAIN = ("select", "joins", "subqueries", "windows")


def cases(*names: str) -> list[object]:
    """(query, tree) of each case of these files."""
    return [case for name in names for case in _cases(name)]


def _cases(name: str) -> Iterator[object]:
    sections = (FOLDER / f"{name}.test").read_text().split("\n\n")
    for section in sections[1:]:
        query, _, tree = section.strip().partition("\n----\n")
        if query:
            yield pytest.param(query, tree, id=f"{name}: {query[:60]}")


@pytest.fixture(scope="module")
def planning() -> Planning:
    return sample()


@pytest.mark.parametrize(("query", "tree"), cases(*PLAIN))
def test_what_a_query_asks_for(planning: Planning, query: str, tree: str) -> None:
    assert shown(planning.tree(query)) == tree


@pytest.mark.parametrize(("query", "tree"), cases("rules"))
def test_what_rules_make_of_it(planning: Planning, query: str, tree: str) -> None:
    assert shown(planning.tree(query, optimized=True)) == tree


@pytest.mark.parametrize(("query", "tree"), cases("changelogs"))
def test_which_changes_operators_emit(planning: Planning, query: str, tree: str) -> None:
    relation = planning.optimized(query)
    text = physical_plan(relation, annotated(relation))
    assert shown(text.partition("\n")[2]) == tree


@pytest.mark.parametrize(("query", "_tree"), cases(*PLAIN, "rules", "changelogs"))
def test_rules_keep_names_and_types(planning: Planning, query: str, _tree: str) -> None:
    """Only that a column cannot be NULL may be learnt or forgotten on the way."""
    before, after = planning.query(query), planning.optimized(query)
    assert after.names == before.names
    assert [type.with_nullable(True) for type in after.types] == [
        type.with_nullable(True) for type in before.types
    ]
