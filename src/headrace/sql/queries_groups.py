"""GROUP BY: keys, GROUPING SETS, ROLLUP and CUBE."""

from __future__ import annotations

from itertools import combinations, product

from sqlglot import exp

from headrace.errors import Unsupported
from headrace.sql import unresolved as un
from headrace.sql.nodes import position_of
from headrace.sql.selection import GroupBy
from headrace.sql.to_unresolved import unresolved, unresolved_all

_Set = tuple[un.Unresolved, ...]
_MAXIMUM = 4096


def group_by(group: exp.Expr) -> GroupBy:
    """The keys, each once, and the sets of them if there are several."""
    elements = [_sets(each) for each in group.expressions]
    total = 1
    for element in elements:
        total *= len(element)
    if total > _MAXIMUM:
        raise Unsupported(f"GROUP BY has {total} grouping sets", origin=position_of(group))
    keys: list[un.Unresolved] = []
    for element in elements:
        for each in element:
            keys += [key for key in each if key not in keys]
    if all(len(element) == 1 for element in elements):
        return GroupBy(tuple(keys))
    sets = []
    for chosen in product(*elements):
        members = {keys.index(key) for each in chosen for key in each}
        sets.append(tuple(sorted(members)))
    if group.args.get("distinct"):
        sets = list(dict.fromkeys(sets))
    return GroupBy(tuple(dict.fromkeys(keys)), tuple(sets))


def _sets(node: exp.Expr) -> list[_Set]:
    """The alternatives that an element of GROUP BY stands for."""
    if isinstance(node, exp.GroupingSets):
        return [each for part in node.expressions for each in _sets(part)]
    if isinstance(node, exp.Rollup):
        parts = [_list(each) for each in node.expressions]
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = [_list(each) for each in node.expressions]
        lengths = range(len(parts), -1, -1)
        return [_joined(chosen) for n in lengths for chosen in combinations(parts, n)]
    return [_list(node)]


def _list(node: exp.Expr) -> _Set:
    if isinstance(node, exp.Tuple):
        return unresolved_all(node.expressions)
    return (unresolved(node),)


def _joined(parts: tuple[_Set, ...] | list[_Set]) -> _Set:
    return tuple(dict.fromkeys(key for part in parts for key in part))
