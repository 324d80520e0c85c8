"""What one task sends another, in order: envelopes of records, barriers, the end.

A parcel says who sent it and how many it has sent to this receiver before, so that one that is
lost or overtaken is noticed. Its content is opened only when its turn comes: a parcel that waits
for a barrier, or becomes part of a snapshot, is bytes.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

RECORDS, BARRIER, END = range(3)
_HEAD = struct.Struct("!BIQQ")


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
    """Of records: an encoded `Envelope`."""

    def encode(self) -> bytes:
        head = _HEAD.pack(self.kind, self.sender, self.number, self.checkpoint)
        return head + self.content

    @staticmethod
    def decode(blob: bytes) -> Parcel:
        kind, sender, number, checkpoint = _HEAD.unpack_from(blob)
        return Parcel(kind, sender, number, checkpoint, blob[_HEAD.size :])
