"""Output that was prepared for checkpoints and that is not committed yet.

It is noted before the checkpoint is written down, and committed after it: whatever runs again in
between has not been seen by anybody. A program that comes back finds in the journal what is left to
commit, and what to throw away.

    batch-<n>-<k>   what was prepared for checkpoint n of attempt k
    settled-<n>-<k> the last checkpoint whose output is committed, as attempt k knows; every later
                    one must have its entry, or output is lost. Without sinks that commit, only what
                    was to be printed or collected is noted, and this file is not there.

Who was followed by another attempt and does not know it yet can write to files of its own only. Of
its entries those count that belong to the checkpoint which the other one went on from, or to one
before; and of all that say what is settled the greatest number is true, for nobody commits output
of a checkpoint that does not count. Once the names had no attempts, and the number was inside of
`settled`: what was written so is read.
"""

from __future__ import annotations

import logging
import pickle
from contextlib import suppress
from typing import Any, Protocol
from zlib import crc32

from headrace.errors import CorruptState
from headrace.runtime.flow.checkpoint import CheckpointId
from headrace.runtime.pickling import dumps
from headrace.spark.file_store import finished_name

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
        self._entries: dict[CheckpointId, Committables] = {}
        self._attempt = 0
        self._last: CheckpointId | None = None
        self._counts_without_attempt = True
        self._has_all = False
        """Whether every checkpoint has an entry, with output or without."""
        self._upto = 0
        """The last checkpoint that is known to be settled."""
        self._said: str | None = None
        """The name of the file in which this attempt has said so."""

    def begin(self) -> None:
        """Say that every checkpoint will have an entry, before the first one of an attempt."""
        self._has_all = True
        if self._folder is None:
            return
        self._settled(self._upto)
        for name in self._folder.names():
            said = _settled(name)
            if said is not None and said.attempt < self._attempt:
                self._folder.delete(name)

    def note(self, number: int, prepared: Committables) -> None:
        """Remember what a checkpoint prepared."""
        entry = CheckpointId(number, self._attempt)
        self._entries[entry] = prepared
        if self._folder is not None:
            self._folder.write(_name(entry), _sealed(dumps(prepared)))

    def recall(
        self, last: CheckpointId | None, attempt: int, *, required: bool = False,
        may_repeat: bool = False,
    ) -> None:  # fmt: skip
        """Read what attempts before this one left; if `required`, a journal there must be.

        `last`: the checkpoint that this attempt goes on from. `may_repeat`: output may be committed
        twice, as that after a checkpoint that was lost.
        """
        self._attempt, self._last, self._said = attempt, last, None
        if self._folder is None:
            return
        names = self._folder.names()
        settled = [name for name in names if _settled(name) is not None]
        # The first attempt that numbers its entries removes the other file, once it has settled
        # what it found.
        self._counts_without_attempt = not settled or _SETTLED in settled
        for name in names:
            self._recall_entry(self._folder, name)
        self._has_all = required or bool(settled)
        if last is not None and self._has_all:
            self._require_all(self._folder, last, may_repeat)

    def _recall_entry(self, folder: Folder, name: str) -> None:
        finished = finished_name(name)
        if finished is not None:
            if _written_by(finished) in range(self._attempt):  # who wrote it was killed
                folder.delete(name)
            return
        entry = _entry(name)
        if entry is None or entry.attempt >= self._attempt:
            return
        try:
            self._entries[entry] = pickle.loads(_opened(folder, name))
        except FileNotFoundError:  # one before this has settled it, and then was asleep until now
            return
        except CorruptState as error:
            if self.counts(entry):
                raise
            # The checkpoint comes to nothing; only its traces cannot be cleared away.
            _LOG.warning(
                "%s; what checkpoint %d prepared stays as it is", error.message, entry.number
            )
            folder.delete(name)

    def _require_all(self, folder: Folder, last: CheckpointId, may_repeat: bool) -> None:
        self._upto = _settled_upto(folder)
        if self._upto > last.number and not may_repeat:
            raise _damaged(
                folder,
                f"output of checkpoint {self._upto} is committed, but the last checkpoint "
                f"is {last.number}",
            )
        noted = {entry.number for entry in self._entries if self.counts(entry)}
        for number in range(self._upto + 1, last.number + 1):
            if number not in noted:
                raise _damaged(folder, f"{_name(CheckpointId(number, last.attempt))} is missing")

    def counts(self, entry: CheckpointId) -> bool:
        """Whether what an entry prepared is part of the checkpoint that was gone on from.

        What was prepared for those before it is settled, unless the same attempt wrote them: none
        prepares anything before it has settled all that it found.
        """
        if self._last is None or entry.number > self._last.number:
            return False
        if entry.attempt == 0:
            return self._counts_without_attempt
        return entry.attempt == self._last.attempt

    def pending(self) -> list[CheckpointId]:
        """The checkpoints that have an entry, in order."""
        return sorted(self._entries)

    def prepared(self, entry: CheckpointId) -> Committables:
        return self._entries[entry]

    def settle(self, entry: CheckpointId) -> None:
        """Forget an entry whose output is committed."""
        self._settled(max(self._upto, entry.number))
        self.discard(entry)

    def discard(self, entry: CheckpointId) -> None:
        """Forget an entry whose output was thrown away."""
        del self._entries[entry]
        if self._folder is not None:
            self._folder.delete(_name(entry))

    def _settled(self, number: int) -> None:
        self._upto = number
        name = f"{_SETTLED}-{CheckpointId(number, self._attempt).name}"
        if self._folder is not None and self._has_all and name != self._said:
            before, self._said = self._said, name
            self._folder.write(name, b"")
            if before is not None:
                self._folder.delete(before)


_PREFIX = "batch-"
_SETTLED = "settled"
_LOOKS = 3
_SEED = 0x48524A31


def _name(entry: CheckpointId) -> str:
    return f"{_PREFIX}{entry.name if entry.attempt else entry.number}"


def _entry(name: str) -> CheckpointId | None:
    return CheckpointId.parse(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None


def _settled(name: str) -> CheckpointId | None:
    """What a file says that is settled, and who says so; None: it says something else."""
    if name == _SETTLED:
        return CheckpointId(0, 0)
    return CheckpointId.parse(name.removeprefix(f"{_SETTLED}-")) if _SETTLED in name else None


def _settled_upto(folder: Folder) -> int:
    """The greatest number that anybody says. Whoever says another writes that first, and removes
    the one before then: who looks meanwhile may miss both, and looks again."""
    for _ in range(_LOOKS):
        said = {name: found for name in folder.names() if (found := _settled(name)) is not None}
        with suppress(FileNotFoundError):
            if said:
                own = [int(_opened(folder, name)) for name in said if name == _SETTLED]
                return max([*own, *(found.number for found in said.values())])
    raise _damaged(folder, f"{_SETTLED} is missing")


def _written_by(name: str) -> int | None:
    found = _entry(name) or _settled(name)
    return None if found is None else found.attempt


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
