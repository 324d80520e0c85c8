"""State on its way from the slots that had it to those that will: its names, its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa

from headrace.runtime.carried_time import ENGINE_UID, engine_entries
from headrace.runtime.declared_state import Declared
from headrace.runtime.state_rows import (
    BROADCAST,
    LIST,
    UNION,
    Item,
    RowForm,
    chunked,
    items_of,
    scope_and_name,
    stored_name,
)
from headrace.runtime.subtask_state import TIMERS, SubtaskState
from headrace.runtime.tables import Table

_CHUNK = 50_000


@dataclass(frozen=True)
class SlotState:
    """What one slot has of one state of one operator."""

    operator: str
    name: str
    """As the program knows it."""
    scope: str
    slot: int
    declared: Declared | None
    table: Any

    @property
    def declared_type(self) -> Any:
        """The type the program declared, as JSON; None for timers."""
        return None if self.declared is None or self.table.kind == TIMERS else self.declared.type

    def form(self, *, sample: bool = False) -> RowForm:
        """The form that fits what is here, or the first of it."""
        ttl = self.declared is not None and self.declared.ttl
        chunks = chunked(self.items(), _CHUNK)
        seen = islice(chunks, 1) if sample else chunks
        return RowForm.observe(self.table.kind, self.scope, ttl, seen)

    def rows(self, form: RowForm, max_parallelism: int) -> Iterator[pa.RecordBatch]:
        """Everything that is here."""
        first = 0
        for items in chunked(self.items(), _CHUNK):
            yield form.encode(items, max_parallelism, first)
            first += len(items)

    def items(self) -> Iterator[Item]:
        """What is here, one by one."""
        if self.scope not in (LIST, UNION):
            return items_of(self.table)
        return ((self.slot, values) for _, values in items_of(self.table))


def slot_states(
    state: SubtaskState, declared: Mapping[tuple[str, str], Declared], slot: int
) -> Iterator[SlotState]:
    """All that a slot keeps for operators."""
    for uid, name, table in state.contents_by_state():
        if uid == ENGINE_UID:
            continue
        known = declared.get((uid, name))
        scope, plain = scope_and_name(name)
        if table.kind == TIMERS:
            scope, plain = str(known.type if known else "keyed"), name
        if scope == BROADCAST and slot:
            continue  # the first slot has the same
        yield SlotState(uid, plain, scope, slot, known, table)


def slot_time(state: SubtaskState) -> dict[str, Any]:
    """What a slot knows of event time."""
    return engine_entries([(uid, name, table.data) for uid, name, table in state.contents_by_state()
                           if uid == ENGINE_UID and isinstance(table, Table)])  # fmt: skip


def restored_as(form: RowForm, name: str, declared_type: Any) -> tuple[str, Declared]:
    """Under which name a slot keeps a state, and how it was declared."""
    if form.kind == TIMERS:
        return name, Declared(TIMERS, form.scope, False)
    return stored_name(form.scope, name), Declared(form.kind, declared_type, form.ttl)
