"""Looking at the state and the timers of a running engine without touching them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from headrace.core.operator import EVENT_TIME, PROCESSING_TIME
from headrace.core.state import AggregatingStateDescriptor, StateDescriptor
from headrace.core.timers import TimeDomain
from headrace.errors import InvalidArgument
from headrace.memory.engine import MemoryEngine
from headrace.origin import calling_origin
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.subtask_state import BROADCAST_PREFIX, LIST_PREFIX, UNION_PREFIX
from headrace.runtime.ttl import Expiry
from headrace.runtime.vertex_task import VertexTask
from headrace.testing.taps import TappedOperator

_DOMAINS = {
    TimeDomain.EVENT_TIME: EVENT_TIME, TimeDomain.PROCESSING_TIME: PROCESSING_TIME,
    EVENT_TIME: EVENT_TIME, PROCESSING_TIME: PROCESSING_TIME,
}  # fmt: skip


def timers_of(engine: MemoryEngine, domain: TimeDomain | str) -> list[tuple[int, Any]]:
    """The timers that are set, as (time, key), in the order they would fire."""
    if domain not in _DOMAINS:
        raise InvalidArgument(
            f"{domain!r} is no time domain", origin=calling_origin(),
            hint='Use TimeDomain.EVENT_TIME or TimeDomain.PROCESSING_TIME, or their short names '
            '"event" and "processing".',
        )  # fmt: skip
    pending = [timer for _, vertex, _ in _operators(engine)
               for timer in vertex.timers.pending(_DOMAINS[domain])]  # fmt: skip
    return sorted(pending, key=lambda timer: timer[0])


def keyed_state_of(engine: MemoryEngine, name: str) -> dict[Any, Any]:
    """One state of all keys, as the function would see it now."""
    found: dict[Any, Any] = {}
    owners: set[str] = set()
    known: set[str] = set()
    for task, vertex, operator in _operators(engine):
        known.update(operator.descriptors)
        descriptor = operator.descriptors.get(name)
        if descriptor is None:
            continue
        owners.add(vertex.vertex.uid)
        for key, stored in task.state.contents(vertex.vertex.uid, name).items():
            value = _visible(descriptor, stored, task)
            if value is not None:
                found[key] = deepcopy(value)
    if len(owners) != 1:
        problem = "more than one operator has a" if owners else "no operator has a"
        raise InvalidArgument(
            f"{problem} keyed state called {name!r}", origin=calling_origin(),
            hint=f"The states are: {', '.join(sorted(known)) or 'none'}.",
        )  # fmt: skip
    return found


def broadcast_state_of(engine: MemoryEngine, name: str) -> dict[Any, Any]:
    """The entries of a broadcast state, the same in every subtask."""
    for task, vertex, _ in _operators(engine):
        entries = task.state.contents(vertex.vertex.uid, BROADCAST_PREFIX + name).get(None)
        if entries:
            return deepcopy(entries)
    return {}


def operator_state_of(engine: MemoryEngine, name: str) -> list[Any]:
    """The elements of a list state or union list state, in the order of the subtasks."""
    return [
        deepcopy(element) for task, vertex, _ in _operators(engine)
        for prefix in (LIST_PREFIX, UNION_PREFIX)
        for element in task.state.contents(vertex.vertex.uid, prefix + name).get(None, ())
    ]  # fmt: skip


def _operators(engine: MemoryEngine) -> Iterator[tuple[FlowingLevel, VertexTask, TappedOperator]]:
    for task in engine.tasks():
        for vertex in task.tasks.values():
            if isinstance(vertex.operator, TappedOperator):
                yield task, vertex, vertex.operator


def _visible(descriptor: StateDescriptor, stored: Any, task: FlowingLevel) -> Any:
    value = stored
    if descriptor.ttl is not None:
        value = _unexpired(descriptor.kind, stored, Expiry(descriptor.ttl, task.clock))
    if value is not None and isinstance(descriptor, AggregatingStateDescriptor):
        return descriptor.get_agg_function().get_result(deepcopy(value))
    return value


def _unexpired(kind: str, stored: Any, expiry: Expiry) -> Any:
    if kind == "list":
        return [item for time, item in stored if not expiry.expired((time, item))] or None
    if kind == "map":
        return {entry: aged[1] for entry, aged in stored.items()
                if not expiry.expired(aged)} or None  # fmt: skip
    return None if expiry.expired(stored) else stored[1]
