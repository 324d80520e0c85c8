"""Options and hints of lookup joins."""

from __future__ import annotations

from headrace.core.config import parse_duration
from headrace.graph.relations import LookupJoin
from headrace.operators.table.lookup_cache import (
    FullCacheOptions,
    PartialCacheOptions,
    RetryOptions,
)


def cache_options(relation: LookupJoin) -> PartialCacheOptions | FullCacheOptions | None:
    """How the table's options say that looked-up rows are kept."""
    return getattr(relation.source, "cache", None)


def retry_options(hints: tuple[tuple[str, tuple[str, ...]], ...]) -> RetryOptions | None:
    """LOOKUP('retry-predicate' = 'lookup_miss', …)."""
    for name, arguments in hints:
        if name.upper() != "LOOKUP":
            continue
        given = dict(argument.split("=", 1) for argument in arguments)
        if given.get("retry-predicate") == "lookup_miss":
            delay = parse_duration(given.get("fixed-delay", "0 ms")).to_millis()
            return RetryOptions(int(given.get("max-attempts", "1")), delay)
    return None
