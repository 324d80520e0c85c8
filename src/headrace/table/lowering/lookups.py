"""Options and hints of lookup joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core.source import SplitSpec
from headrace.core.table_connector import INSERT, TableSource
from headrace.errors import Unsupported
from headrace.graph.relations import (
    AssignWatermark,
    Filter,
    LookupJoin,
    Project,
    Relation,
    Scan,
)
from headrace.operators.table.awaited_calls import AwaitedCalls, is_awaited
from headrace.operators.table.compiled import compiled_predicate, compiled_row
from headrace.operators.table.full_cache import FullCache, FullCacheOptions, WholeTable
from headrace.operators.table.lookup_cache import (
    Lookup,
    PartialCacheOptions,
)
from headrace.operators.table.lookup_hint import LookupHint, read_lookup_hint
from headrace.operators.table.user_functions import FunctionContext


def lookup_of(relation: LookupJoin, hint: LookupHint, calls: AwaitedCalls) -> Lookup:
    """What finds the rows of the table that is looked up. One that cannot do so at the same time
    for many keys does it as it can, as in Flink."""
    columns = tuple(column for column, _ in relation.keys)
    cache = getattr(relation.source, "cache", None)
    if isinstance(cache, FullCacheOptions):
        return FullCache(_whole_table(relation.source), columns, cache)
    lookup = relation.source.lookup(columns)
    if lookup is None:
        raise Unsupported("the table of a lookup join cannot be looked up by these columns")
    if hint.asynchronous and hasattr(lookup, "at_the_same_time"):
        lookup = lookup.at_the_same_time(calls)
    return lookup  # type: ignore[no-any-return]


def _whole_table(source: TableSource) -> WholeTable:
    reader = source.reader()
    if not isinstance(reader, SplitSpec) or not reader.bounded:
        raise Unsupported(
            "a cache of a whole table needs a table that is read in splits and ends",
            hint="Set 'lookup.cache' to 'PARTIAL' or 'NONE'.",
        )
    return WholeTable(reader.source)


def partial_cache(relation: LookupJoin) -> PartialCacheOptions | None:
    """How the table's options say that looked-up rows are kept, if not all of them are."""
    cache = getattr(relation.source, "cache", None)
    return cache if isinstance(cache, PartialCacheOptions) else None


def lookup_hint(relation: LookupJoin) -> LookupHint:
    """LOOKUP('async' = 'true', 'retry-predicate' = 'lookup_miss', …). A table in memory has no more
    if it is asked again, nor is there anything to wait for."""
    found = LookupHint()
    for name, arguments in relation.hints:
        if name == "LOOKUP":
            found = read_lookup_hint(dict(argument.split("=", 1) for argument in arguments))
    if isinstance(getattr(relation.source, "cache", None), FullCacheOptions):
        return LookupHint()
    return found


class ShapedLookup:
    """Looks rows up and applies what the query does to the table: filters and projections."""

    def __init__(self, lookup: Lookup, steps: list[tuple[str, Any]]):
        self._lookup = lookup
        self._steps = steps

    def open(self) -> None:
        opening = getattr(self._lookup, "open", None)
        if opening is not None:
            opening()
        for _, step in self._steps:
            step.open(FunctionContext(None))

    def close(self) -> None:
        for _, step in self._steps:
            step.close()
        closing = getattr(self._lookup, "close", None)
        if closing is not None:
            closing()

    def __call__(self, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._shaped(self._lookup(key))

    @property
    def asks_together(self) -> bool:
        return bool(getattr(self._lookup, "asks_together", False))

    def look_up_all(self, keys: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        return [self._shaped(found) for found in self._lookup.look_up_all(keys)]  # type: ignore[attr-defined]

    def _shaped(self, found: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        rows = [(INSERT, *row) for row in found]
        for kind, step in self._steps:
            if kind == "filter":
                rows = [row for row in rows if step(row)]
            else:
                rows = [step(row) for row in rows]
        return [row[1:] for row in rows]


class AwaitedShapedLookup(ShapedLookup):
    """The same for a look-up that is awaited."""

    async def __call__(self, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:  # type: ignore[override]
        return self._shaped(await self._lookup(key))  # type: ignore[misc]


def shaped(lookup: Lookup, table: Relation) -> Lookup:
    """The look-up of a relation whose table is looked up."""
    steps: list[tuple[str, Any]] = []
    while not isinstance(table, Scan):
        match table:
            case Project(input=below, expressions=expressions):
                steps.append(("project", compiled_row(expressions)))
            case Filter(input=below, condition=condition):
                steps.append(("filter", compiled_predicate(condition)))
            case AssignWatermark(input=below):
                pass
            case _:
                raise Unsupported(f"a lookup join with {type(table).__name__} over the table")
        table = below
    if not steps:
        return lookup
    kind = AwaitedShapedLookup if is_awaited(lookup) else ShapedLookup
    return kind(lookup, steps[::-1])
