"""Output that micro-batches have prepared and that is not committed yet.

A micro-batch's output is noted before Spark notes that the batch is done, and committed after it:
whatever runs again in between has not been seen by anybody. A program that comes back finds in the
journal what is left to commit, and what to throw away.
"""

from __future__ import annotations

import pickle
from typing import Any, Protocol

Committables = dict[str, list[Any]]
"""By the uid of the sink."""


class Folder(Protocol):
    """What the journal asks of a folder."""

    def read(self, name: str) -> bytes: ...

    def write(self, name: str, content: bytes) -> None: ...

    def names(self, folder: str = "") -> list[str]: ...

    def delete(self, name: str = "") -> None: ...


class CommitJournal:
    """An entry for each micro-batch; without a folder it lasts as long as the process."""

    def __init__(self, folder: Folder | None):
        self._folder = folder
        self._entries: dict[int, Committables] = {}

    def note(self, batch_id: int, prepared: Committables) -> None:
        """Remember what a micro-batch prepared."""
        self._entries[batch_id] = prepared
        if self._folder is not None and prepared:
            self._folder.write(_name(batch_id), pickle.dumps(prepared, 5))

    def recall(self) -> None:
        """Read what an earlier process left."""
        for name in self._folder.names() if self._folder is not None else ():
            if name.startswith(_PREFIX):
                assert self._folder is not None
                prepared: Committables = pickle.loads(self._folder.read(name))
                self._entries[int(name.removeprefix(_PREFIX))] = prepared

    def pending(self) -> list[int]:
        """The micro-batches that have an entry, in order."""
        return sorted(self._entries)

    def prepared(self, batch_id: int) -> Committables:
        return self._entries[batch_id]

    def settle(self, batch_id: int) -> None:
        """Forget an entry: its output is committed, or thrown away."""
        prepared = self._entries.pop(batch_id)
        if self._folder is not None and prepared:
            self._folder.delete(_name(batch_id))


_PREFIX = "batch-"


def _name(batch_id: int) -> str:
    return f"{_PREFIX}{batch_id}"
