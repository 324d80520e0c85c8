"""What conditions ask of the rows of a partial match, which grows by one row at a time.

Computed from the first row each time, an aggregate in a condition would make a match of n rows cost
n² steps. So what was computed for a link is kept for those that follow on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from headrace.core.row_patterns import Variables
from headrace.operators.cep.shared_buffer import Link
from headrace.operators.table.aggregating import AggregateHandler, Kept

K = TypeVar("K")
_MOST = 50_000
"""For how many links something is kept, and as many again: the older half is dropped then."""
_NEAR = 16
"""How far back a row is looked for link by link."""
OfMatch = Callable[[Link | None, Any], Any]
"""From the last link and the row in question, or None if that one does not count."""


def folded(
    variables: Variables, begin: Callable[[], K], then: Callable[[K, Any], K]
) -> Callable[[Link | None], K]:
    """`then` applied to the rows of variables one after the other, up to a link."""
    recent: dict[int, tuple[Link, K]] = {}
    older: dict[int, tuple[Link, K]] = {}

    def upto(last: Link | None) -> K:
        nonlocal recent, older
        fresh: list[Link] = []
        found = None
        while last is not None and (found := recent.get(id(last)) or older.get(id(last))) is None:
            fresh.append(last)
            last = last.before
        kept = begin() if found is None else found[1]
        for link in reversed(fresh):
            if variables is None or link.stage in variables:
                kept = then(kept, link.event)
            recent[id(link)] = link, kept  # with the link, so that no other gets its id
        if len(recent) > _MOST:
            recent, older = {}, recent
        return kept

    return upto


def first_row(variables: Variables, offset: int) -> OfMatch:
    """The first row of variables, or one of those after it."""

    def then(kept: tuple[Any, ...], row: Any) -> tuple[Any, ...]:
        return kept if len(kept) > offset else (*kept, row)

    upto = folded(variables, tuple, then)

    def find(last: Link | None, row: Any) -> Any:
        kept = upto(last)
        if len(kept) > offset:
            return kept[offset]
        return row if len(kept) == offset else None

    return find


def last_row(variables: Variables, offset: int) -> Callable[[Link | None], Any]:
    """The last row of variables, or one of those before it; most often it is near."""
    upto = folded(variables, tuple, lambda kept, row: (*kept, row)[-1 - offset :])

    def find(last: Link | None) -> Any:
        link, left = last, offset
        for _ in range(_NEAR):
            if link is None:
                return None
            if variables is None or link[1] in variables:
                if not left:
                    return link[3]
                left -= 1
            link = link[0]
        kept = upto(last)
        return kept[0] if len(kept) > offset else None

    return find


def total(handler: AggregateHandler) -> Callable[[Iterable[Any]], Any]:
    """The value of an aggregate over rows."""
    create, add_all, results = handler.create, handler.add_all, handler.results

    def over(rows: Any) -> Any:
        kept = create()
        add_all(kept, rows)
        return results(kept)[0]

    return over


def running_total(handler: AggregateHandler, variables: Variables) -> OfMatch:
    """The value of an aggregate over the rows of a partial match."""
    if not _is_flat(handler):
        return _from_the_start(handler, variables)
    add, results = handler.add, handler.results

    def then(kept: Kept, row: Any) -> Kept:
        after = [each[:] if each.__class__ is list else each for each in kept]
        add(after, row)
        return after

    upto = folded(variables, handler.create, then)

    def over(last: Link | None, row: Any) -> Any:
        kept = upto(last)
        return results(kept if row is None else then(kept, row))[0]

    return over


def _from_the_start(handler: AggregateHandler, variables: Variables) -> OfMatch:
    of = total(handler)

    def over(last: Link | None, row: Any) -> Any:
        rows = [] if row is None else [row]
        while last is not None:
            if variables is None or last.stage in variables:
                rows.append(last.event)
            last = last.before
        rows.reverse()
        return of(rows)

    return over


def _is_flat(handler: AggregateHandler) -> bool:
    """Whether what is kept are values, or short lists of values, so that copying costs little."""
    if any(call.user is not None or call.distinct for call in handler.calls):
        return False
    return all(_is_plain(kept) or (kept and all(map(_is_plain, kept))) for kept in handler.create())


def _is_plain(value: Any) -> bool:
    return not isinstance(value, list | dict | set | tuple)
