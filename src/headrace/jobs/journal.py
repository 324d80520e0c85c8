"""What a resumable job is about to commit, on disk before it is committed.

A program may die after output was committed and before Spark has noted that the micro-batch is
done. The batch then runs again when the job is resumed; what counts is what its first run
prepared, for that may be visible already.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

Committables = dict[str, list[Any]]
"""By the uid of the sink."""

_KEPT = 2
"""Spark can run only the last batch again; one more is kept for good measure."""


class CommitJournal:
    """One file for each of the latest micro-batches; without a folder nothing is remembered."""

    def __init__(self, folder: Path | None):
        self._folder = folder

    def settled(self, batch_id: int, prepared: Committables) -> Committables:
        """What to commit for a batch: what its first run prepared, if it came so far."""
        if self._folder is None:
            return prepared
        entry = self._entry(batch_id)
        if entry.exists():
            known: Committables = pickle.loads(entry.read_bytes())
            return known
        self._write(entry, pickle.dumps(prepared, 5))
        self._entry(batch_id - _KEPT).unlink(missing_ok=True)
        return prepared

    def _entry(self, batch_id: int) -> Path:
        assert self._folder is not None
        return self._folder / f"batch-{batch_id}"

    def _write(self, entry: Path, content: bytes) -> None:
        entry.parent.mkdir(parents=True, exist_ok=True)
        unfinished = entry.with_name(f".{entry.name}")
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(entry)
