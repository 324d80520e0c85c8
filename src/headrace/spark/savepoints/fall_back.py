"""Going back by one checkpoint when the last one cannot be read."""

from __future__ import annotations

import logging

from headrace.spark.failures import DamagedState
from headrace.spark.file_store import FileStore
from headrace.spark.savepoints.checkpoint import last_committed
from headrace.spark.savepoints.verification import as_written, note_progress

_LOG = logging.getLogger("headrace")


def fall_back(run: FileStore, damage: DamagedState) -> bool:
    """Take the last checkpoint back, if it is all that is damaged; says whether it was.

    Spark then runs the last micro-batch again, on the same input and the state before it. Output
    of that batch that is committed stays; what it prepares this time is thrown away.
    """
    last = last_committed(run)
    if last is None or last < 1 or not run.exists(f"checkpoint/offsets/{last - 1}"):
        return False
    if damage.version != last + 1:
        return False
    _LOG.warning(
        "checkpoint %d in %s is damaged, the job goes on from checkpoint %d: %s",
        last, run.uri, last - 1, damage.message.partition("\n")[0],
    )  # fmt: skip
    # First the note, or a crash in between would look like a commit log that has lost something.
    note_progress(run, last - 1)
    for folder, first in (("offsets", last + 1), ("commits", last)):
        for name in run.names(f"checkpoint/{folder}"):
            if name.isdigit() and int(name) >= first:
                run.delete(f"checkpoint/{folder}/{name}")
                run.delete(f"checkpoint/{folder}/.{name}.crc")
    return True


def located(run: FileStore, damage: DamagedState) -> DamagedState:
    """The same damage with the name of the file, where Spark did not say it."""
    last = last_committed(run)
    file = None if last is None else _first_damaged(run, last + 1)
    if damage.file is not None or file is None:
        return damage
    return DamagedState(damage.what, f"{run.uri}/{file}")


def _first_damaged(run: FileStore, version: int) -> str | None:
    """A file of a version of the slots' state that is not as it was written."""
    slots = [f"checkpoint/state/{level}/{slot}" for level in _numbers(run, "checkpoint/state")
             for slot in _numbers(run, f"checkpoint/state/{level}")]  # fmt: skip
    for slot in slots:
        files = {f"{version}.changelog", f"{version}.zip"} & set(run.names(slot))
        for name in sorted(f"{slot}/{file}" for file in files):
            content = run.read(name)
            if not content or not as_written(run, name, content):
                return name
        if not files:
            return f"{slot}/{version}.changelog"
    return None


def _numbers(run: FileStore, folder: str) -> list[str]:
    return [name for name in run.names(folder) if name.isdigit()]
