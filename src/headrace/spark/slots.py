"""Which group label lands in which shuffle partition.

Spark groups by hashing; a slot must be alone in its partition, or the work would be uneven. So
each slot gets a label that Spark's hash (Murmur3, 32 bit, seed 42) sends to the slot's number.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (32 - by))) & _MASK


def hash_of_int(value: int) -> int:
    """What Spark's hash() gives for an int column, signed."""
    k = _rotated(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    h = (_rotated(_SEED ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # the length of an int
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def slot_labels(slots: int) -> list[int]:
    """For each slot the smallest label that Spark puts into the partition of that number."""
    labels: dict[int, int] = {}
    candidate = 0
    while len(labels) < slots:
        labels.setdefault(hash_of_int(candidate) % slots, candidate)
        candidate += 1
    return [labels[slot] for slot in range(slots)]
