"""Output that was prepared for checkpoints and that is not committed yet.

It is noted before the checkpoint is written down, and committed after it: whatever runs again in
between has not been seen by anybody. A program that comes back finds in the journal what is left to
commit, and what to throw away.

    batch-<n>    what was prepared for checkpoint n
    settled      the last checkpoint whose output is committed; every later one must have its entry,
                 or output is lost. Without sinks that commit, only what was to be printed or
                 collected is noted, and this file is not there.
"""

from __future__ import annotations

import logging
import pickle
from typing import Any, Protocol
from zlib import crc32

from headrace.errors import CorruptState
from headrace.runtime.pickling import dumps

Committables = dict[str, list[Any]]
"""By the uid of the sink."""
_LOG = logging.getLogger("headrace")


class Folder(Protocol):
    """What the journal asks of a folder."""

    uri: str

    def read(self, name: str) -> bytes: ...

    def write(self, name: str, content: bytes) -> None: ...

    def names(self, folder: str = "") -> list[str]: ...

    def delete(self, name: str = "") -> None: ...


class CommitJournal:
    """An entry for each checkpoint; without a folder it lasts as long as the process."""

    def __init__(self, folder: Folder | None):
        self._folder = folder
        self._entries: dict[int, Committables] = {}
        self._has_all = False
        """Whether every checkpoint has an entry, with output or without."""

    def begin(self) -> None:
        """Say that every checkpoint will have an entry, before the first one of a run."""
        self._has_all = True
        if self._folder is not None and _SETTLED not in self._folder.names():
            self._settled(-1)

    def note(self, number: int, prepared: Committables) -> None:
        """Remember what a checkpoint prepared."""
        self._entries[number] = prepared
        if self._folder is not None:
            self._folder.write(_name(number), _sealed(dumps(prepared)))

    def recall(
        self, last_committed: int | None, *, required: bool = False, may_repeat: bool = False
    ) -> None:
        """Read what an earlier process left; if `required`, a journal there must be.

        `may_repeat`: output may be committed twice, as that after a checkpoint that was lost.
        """
        if self._folder is None:
            return
        names = self._folder.names()
        for name in names:
            if name.startswith(_PREFIX):
                self._recall_entry(self._folder, name, last_committed)
        self._has_all = required or _SETTLED in names
        if last_committed is not None and self._has_all:
            self._require_all(last_committed, may_repeat)

    def _recall_entry(self, folder: Folder, name: str, last_committed: int | None) -> None:
        number = int(name.removeprefix(_PREFIX))
        try:
            self._entries[number] = pickle.loads(_opened(folder, name))
        except CorruptState as error:
            if last_committed is not None and number <= last_committed:
                raise
            # The checkpoint comes to nothing; only its traces cannot be cleared away.
            _LOG.warning("%s; what checkpoint %d prepared stays as it is", error.message, number)
            folder.delete(name)

    def _require_all(self, last_committed: int, may_repeat: bool) -> None:
        assert self._folder is not None
        try:
            settled = int(_opened(self._folder, _SETTLED))
        except FileNotFoundError:
            raise _damaged(self._folder, f"{_SETTLED} is missing") from None
        if settled > last_committed and not may_repeat:
            raise _damaged(
                self._folder,
                f"output of checkpoint {settled} is committed, but the last checkpoint "
                f"is {last_committed}",
            )
        for number in range(settled + 1, last_committed + 1):
            if number not in self._entries:
                raise _damaged(self._folder, f"{_name(number)} is missing")

    def pending(self) -> list[int]:
        """The checkpoints that have an entry, in order."""
        return sorted(self._entries)

    def prepared(self, number: int) -> Committables:
        return self._entries[number]

    def settle(self, number: int) -> None:
        """Forget an entry whose output is committed."""
        self._settled(number)
        self.discard(number)

    def discard(self, number: int) -> None:
        """Forget an entry whose output was thrown away."""
        del self._entries[number]
        if self._folder is not None:
            self._folder.delete(_name(number))

    def _settled(self, number: int) -> None:
        if self._folder is not None and self._has_all:
            self._folder.write(_SETTLED, _sealed(str(number).encode()))


_PREFIX = "batch-"
_SETTLED = "settled"
_SEED = 0x48524A31


def _name(number: int) -> str:
    return f"{_PREFIX}{number}"


def _sealed(content: bytes) -> bytes:
    # With a start of its own: zeros, as a torn file may hold, are no checksum of nothing.
    return crc32(content, _SEED).to_bytes(4, "big") + content


def _opened(folder: Folder, name: str) -> bytes:
    found = folder.read(name)
    content = found[4:]
    if _sealed(content) != found:
        raise _damaged(folder, f"{name} is not what was written")
    return content


def _damaged(folder: Folder, what: str) -> CorruptState:
    return CorruptState(
        f"the journal of prepared output in {folder.uri} is damaged: {what}",
        hint="Restore it from a copy. Without it, output of the last checkpoints may never be "
        "committed: start from a savepoint in a new folder to write it again.",
    )
