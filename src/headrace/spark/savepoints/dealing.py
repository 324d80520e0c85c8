"""Dealing the rows of a savepoint out to the slots of a new run, as changes of their state.

A slot takes its own rows straight from the savepoint's files; what a worker cannot open itself it
is given by the driver.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.runtime.flow.restoring import OpenFile
from headrace.runtime.placement import Placement
from headrace.runtime.state_rows import KEYED, WINDOW, as_change
from headrace.runtime.state_transfer import restored_as
from headrace.runtime.subtask_state import Changes
from headrace.spark.savepoints.direct_files import files_in, rows_in_files
from headrace.spark.savepoints.metadata import SavedState


class Dealer:
    """Makes of the rows of one state what slots take over."""

    def __init__(self, state: SavedState, placement: Placement):
        self.state = state
        self._placement = placement
        self._name, declared = restored_as(state.form, state.name, state.declared)
        self.about = {(state.operator, self._name): declared}
        self.whole = state.form.scope not in (KEYED, WINDOW)
        """Whether it is dealt out as a whole, not key by key."""

    def to_all(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Changes]]:
        """What each slot gets."""
        form = self.state.form
        for rows in _whole(batches) if self.whole else batches:
            if form.plain and not self.whole:
                for slot, own in self._placement.rows_by_key(form, rows):
                    yield slot, self._rows(own)
            else:
                for slot, items in self._placement.deal(form, rows):
                    yield slot, self._items(items)

    def to_slot(self, files: Iterable[Path | RawIOBase], slot: int) -> Iterator[Changes]:
        """What one slot gets of the files that hold the state."""
        form = self.state.form
        if self.whole:
            rows = rows_in_files(files, form.schema.names)
            yield from (changes for its_slot, changes in self.to_all(rows) if its_slot == slot)
            return
        groups = self._placement.groups_of(slot)
        for rows in rows_in_files(files, form.schema.names, groups):
            own = self._placement.rows_of(form, rows, slot)
            if own.num_rows:
                yield self._rows(own) if form.plain else self._items(form.decode(own))

    def _rows(self, rows: pa.RecordBatch) -> Changes:
        form = self.state.form
        return [(self.state.operator, self._name, form.kind, form.change(rows))]

    def _items(self, items: list[Any]) -> Changes:
        kind = self.state.form.kind
        return [(self.state.operator, self._name, kind, as_change(kind, items))]


@dataclass(frozen=True)
class SlotFiles:
    """The files of a savepoint that a slot finds its rows in."""

    root: Path | None
    """None: a worker cannot open them itself."""
    dealers: tuple[Dealer, ...]
    sizes: dict[str, int] = field(default_factory=dict)
    """By the path of each file, where a worker cannot look for them."""

    @property
    def about(self) -> bytes:
        return pickle.dumps({name: as_ for dealer in self.dealers
                             for name, as_ in dealer.about.items()}, 5)  # fmt: skip

    def changes(self, slot: int, open_file: OpenFile | None = None) -> Iterator[Changes]:
        """What the slot takes over; `open_file` reaches what a worker cannot."""
        for dealer in self.dealers:
            yield from dealer.to_slot(self._files_in(dealer.state.folder, open_file), slot)

    def _files_in(self, folder: str, open_file: OpenFile | None) -> Iterable[Path | RawIOBase]:
        if self.root is not None:
            return files_in(self.root / folder)
        assert open_file is not None
        return (open_file(name, size) for name, size in sorted(self.sizes.items())
                if name.startswith(f"{folder}/"))  # fmt: skip


def _whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    everything = list(batches)
    if everything:
        [whole] = pa.Table.from_batches(everything).combine_chunks().to_batches() or [None]
        if whole is not None:
            yield whole
