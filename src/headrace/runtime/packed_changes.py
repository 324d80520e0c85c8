"""Changes of state as bytes: what the files of a checkpoint hold."""

from __future__ import annotations

import pickle

from headrace.errors import CorruptState
from headrace.runtime.pickling import dumps
from headrace.runtime.subtask_state import Changes

HEAD = b"headrace state 1\n"
"""What a file begins with; the number is that of its form."""


def packed(changes: Changes) -> tuple[bytes, dict[str, int]]:
    """Changes as a blob, and how much of it is whose."""
    by_operator: dict[str, Changes] = {}
    for change in changes:
        by_operator.setdefault(change[0], []).append(change)
    parts = {uid: dumps(part) for uid, part in by_operator.items()}
    blob = HEAD + pickle.dumps(list(parts.values()), 5)
    return blob, {uid: len(part) for uid, part in parts.items()}


def unpacked(blob: bytes) -> Changes:
    if not blob.startswith(HEAD):
        raise CorruptState(
            "a state file is of a form that this headrace does not know: it begins with "
            f"{blob[: len(HEAD)]!r}",
            hint="Go on with the version that wrote it, and move on by a savepoint.",
        )
    parts = pickle.loads(memoryview(blob)[len(HEAD) :])
    return [change for part in parts for change in pickle.loads(part)]
