"""map, flat_map and filter.

On a keyed stream they may use keyed state, so there the key is set before each call; elsewhere
the whole batch goes through in one C-level loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, compress
from typing import Any

from headrace.core.functions import Function
from headrace.core.isolation import FROZEN, is_frozen, isolated
from headrace.core.operator import Batch
from headrace.core.user_code import RecordFailure, apply_all
from headrace.operators.base import FunctionOperator, Stamps


class OneByOneOperator(FunctionOperator):
    """Calls one method of the function for each record."""

    method_name: str

    def call(self, batch: Batch) -> list[Any]:
        """The method's results, one for each record."""
        method = self.method(self.method_name)
        if batch.keys is None:
            return apply_all(method, batch.values, self.method_name)
        scope = self.ctx.scope
        results: list[Any] = []
        key = value = None
        try:
            for key, value in zip(batch.keys, batch.values, strict=True):
                scope.key = key
                result = method(value)
                results.append(result if self.lazy is None else self.lazy(result))
        except Exception as error:
            raise RecordFailure(error, self.method_name, value, key) from error
        return results

    lazy: Callable[[Any], Any] | None = None
    """Applied to a result while its key is still set: a generator must run under its key."""


class MapOperator(OneByOneOperator):
    """One record in, one out."""

    method_name = "map"

    def receive(self, side: int, batch: Batch) -> None:
        self.ctx.emit(self.call(batch), batch.timestamps)

    def call(self, batch: Batch) -> list[Any]:
        if self.reuses_objects or batch.keys is not None or not batch.values:
            return super().call(batch)
        # A function object may return what it keeps in a field. A plain function can hardly do so;
        # there, what the first record becomes tells whether it is worth looking at each result.
        method = self.method(self.method_name)
        first = apply_all(method, batch.values[:1], self.method_name)
        rest = batch.values[1:]
        if is_frozen(first[0]) and not isinstance(self.function, Function):
            return first + apply_all(method, rest, self.method_name)
        first[0] = isolated(first[0])

        def isolated_result(value: Any) -> Any:
            result = method(value)  # a variable of ours: isolated() counts it
            return isolated(result)

        return first + apply_all(isolated_result, rest, self.method_name)

    lazy = staticmethod(isolated)


class FilterOperator(OneByOneOperator):
    """Keeps the records for which the function is true."""

    emits_its_input = True
    method_name = "filter"

    def receive(self, side: int, batch: Batch) -> None:
        keep = self.call(batch)
        values = list(compress(batch.values, keep))
        if values:
            stamps = batch.timestamps
            self.ctx.emit(values, None if stamps is None else list(compress(stamps, keep)))


class FlatMapOperator(OneByOneOperator):
    """One record in, any number out."""

    method_name = "flat_map"
    lazy = staticmethod(lambda result: _isolated_list(result))

    def receive(self, side: int, batch: Batch) -> None:
        emit_flat(self.ctx.emit, self._lists(batch), batch.timestamps)

    def _lists(self, batch: Batch) -> list[Iterable[Any]]:
        if batch.keys is not None:
            return self.call(batch)
        flat_map = self.method(self.method_name)
        collect = list if self.reuses_objects else _isolated_list
        return apply_all(lambda v: collect(flat_map(v) or ()), batch.values, self.method_name)


def _isolated_list(results: Iterable[Any] | None) -> list[Any]:
    return [item if item.__class__ in FROZEN else isolated(item) for item in results or ()]


def emit_flat(
    emit: Callable[[list[Any], Stamps | None], None],
    lists: list[Iterable[Any]],
    stamps: Stamps | None,
) -> None:
    """Emit the records of several lists; each has its list's timestamp."""
    values = list(chain.from_iterable(lists))
    if not values:
        return
    if stamps is None:
        emit(values, None)
    else:
        emit(values, [s for s, items in zip(stamps, lists, strict=True) for _ in items])


class CoMapOperator(FunctionOperator):
    """A map over two connected streams."""

    def receive(self, side: int, batch: Batch) -> None:
        mapper = MapOperator(self.function, keyed=self.keyed)
        mapper.method_name = "map2" if side else "map1"
        mapper.ctx = self.ctx
        results = mapper.call(batch)
        # A CoMapFunction that returns None has no result for that record.
        kept = [result is not None for result in results]
        stamps = batch.timestamps
        self.ctx.emit(
            list(compress(results, kept)), None if stamps is None else list(compress(stamps, kept))
        )


class CoFlatMapOperator(FunctionOperator):
    """A flat map over two connected streams."""

    def receive(self, side: int, batch: Batch) -> None:
        mapper = FlatMapOperator(self.function, keyed=self.keyed)
        mapper.method_name = "flat_map2" if side else "flat_map1"
        mapper.ctx = self.ctx
        emit_flat(self.ctx.emit, mapper._lists(batch), batch.timestamps)
