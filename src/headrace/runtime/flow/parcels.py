"""What one task sends another, in order: envelopes of records, barriers, the end.

A parcel says who sent it and how many it has sent to this receiver before, so that one that is
lost or overtaken is noticed. Its content is opened only when its turn comes: a parcel that waits
for a barrier, or becomes part of a snapshot, is bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.errors import CorruptState

RECORDS, BARRIER, END = range(3)
KEPT = (1 << 64) - 1
"""Instead of a number: a parcel that was kept in a checkpoint."""
KEPT_HEAD = b"headrace records in flight 2\n"
"""What a file of kept parcels begins with; the number is that of its form. The first form had none,
and began with a length whose first byte is zero."""
_ANY_HEAD = b"headrace "
_HEAD = struct.Struct("!BIQQ")
_LENGTH = struct.Struct("!Q")
_BARRIER = struct.Struct("!?d")


@dataclass(frozen=True, slots=True)
class Parcel:
    """Records, a barrier, or word that its sender will send no more."""

    kind: int
    sender: int
    number: int
    """How many parcels the sender has sent this receiver before."""
    checkpoint: int = 0
    """Of a barrier: which checkpoint it belongs to."""
    content: bytes = b""
    """Of records: an encoded `Envelope`; of a barrier: a `Barrier`."""

    @property
    def was_kept(self) -> bool:
        return self.number == KEPT

    def encode(self) -> bytes:
        head = _HEAD.pack(self.kind, self.sender, self.number, self.checkpoint)
        return head + self.content

    @staticmethod
    def decode(blob: bytes) -> Parcel:
        kind, sender, number, checkpoint = _HEAD.unpack_from(blob)
        return Parcel(kind, sender, number, checkpoint, blob[_HEAD.size :])


@dataclass(frozen=True, slots=True)
class Barrier:
    """What a barrier says of its checkpoint."""

    is_exact: bool = False
    """Whether everything before it is part of the state, and nothing behind it, however the job
    takes its other checkpoints: so it is for savepoints."""
    age: float = 0.0
    """Milliseconds since the checkpoint was triggered, when the barrier was sent."""

    def encode(self) -> bytes:
        return _BARRIER.pack(self.is_exact, self.age)

    @staticmethod
    def decode(content: bytes) -> Barrier:
        return Barrier(*_BARRIER.unpack(content))


def pack_kept(parcels: Iterable[Parcel]) -> bytes:
    """Records as one file."""
    found = bytearray(KEPT_HEAD)
    for parcel in parcels:
        blob = Parcel(RECORDS, parcel.sender, KEPT, content=parcel.content).encode()
        found += _LENGTH.pack(len(blob)) + blob
    return bytes(found)


def unpack_kept(blob: bytes) -> Iterator[Parcel]:
    """The parcels of such a file."""
    at = len(KEPT_HEAD) if blob.startswith(KEPT_HEAD) else 0
    if not at and blob.startswith(_ANY_HEAD):
        raise CorruptState(
            "a file of records in flight is of a form that this headrace does not know: it begins "
            f"with {blob[: len(KEPT_HEAD)]!r}",
            hint="Go on with the version that wrote it, and move on by a savepoint.",
        )
    while at < len(blob):
        (length,) = _LENGTH.unpack_from(blob, at)
        at += _LENGTH.size
        yield Parcel.decode(blob[at : at + length])
        at += length
