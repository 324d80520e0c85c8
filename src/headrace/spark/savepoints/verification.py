"""Looking a checkpoint over before a job goes on from it.

Spark starts anew without a word where its logs are gone, and runs a batch again where the record
of its end is. What the job itself noted after each micro-batch shows that something is missing.
"""

from __future__ import annotations

import json
import logging
from zlib import crc32

from headrace.errors import CorruptState
from headrace.spark.file_store import FileStore
from headrace.spark.savepoints.checkpoint import PLAN, last_committed

PROGRESS = "progress.json"
_LOG = logging.getLogger("headrace")


def note_progress(run: FileStore, batch: int) -> None:
    """Remember that a micro-batch was committed, and what its offsets were."""
    offsets = run.read(f"checkpoint/offsets/{batch}")
    run.write(PROGRESS, json.dumps({"batch": batch, "offsets": crc32(offsets)}).encode())


def verify_run(run: FileStore) -> None:
    """Refuse a checkpoint that has lost something; forget a torn plan that nothing came of."""
    if not run.exists():
        raise _damaged(run, "the folder is missing")
    _require_plan(run)
    committed = last_committed(run)
    noted = _noted(run)
    if noted is not None and (committed is None or committed < noted["batch"]):
        raise _damaged(run, f"the commit log has lost micro-batch {noted['batch']}")
    if committed is None:
        return
    _require_log(run, f"checkpoint/commits/{committed}")
    offsets = _require_log(run, f"checkpoint/offsets/{committed}")
    if noted is not None and noted["batch"] == committed and noted["offsets"] != crc32(offsets):
        raise _damaged(run, f"checkpoint/offsets/{committed} is not what was written")
    _require_log(run, "checkpoint/metadata", header=False)
    _drop_torn_plans(run, committed)


def _require_plan(run: FileStore) -> None:
    try:
        json.loads(run.read(PLAN))
    except FileNotFoundError:
        raise _damaged(run, f"{PLAN} is missing") from None
    except ValueError:
        raise _damaged(run, f"{PLAN} cannot be read") from None


def _noted(run: FileStore) -> dict[str, int] | None:
    try:
        found: dict[str, int] = json.loads(run.read(PROGRESS))
        return {"batch": int(found["batch"]), "offsets": int(found["offsets"])}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise _damaged(run, f"{PROGRESS} cannot be read") from None


def _require_log(run: FileStore, name: str, *, header: bool = True) -> bytes:
    try:
        content = run.read(name)
    except FileNotFoundError:
        raise _damaged(run, f"{name} is missing") from None
    if not _whole(content, header):
        raise _damaged(run, f"{name} cannot be read")
    return content


def _whole(content: bytes, header: bool) -> bool:
    """Whether a file of Spark's logs is one: `v1`, then lines of JSON."""
    try:
        lines = content.decode().splitlines()
        if header and (not lines or not lines[0].startswith("v")):
            return False
        for line in lines[1:] if header else lines:
            if line not in ("", "-"):
                json.loads(line)
    except ValueError:
        return False
    return bool(lines) and (not header or len(lines) > 1)


def _drop_torn_plans(run: FileStore, committed: int) -> None:
    """A batch that was planned but never committed may be planned anew: nothing came of it."""
    for name in run.names("checkpoint/offsets"):
        later = name.isdigit() and int(name) > committed
        if later and not _whole(run.read(f"checkpoint/offsets/{name}"), True):
            _LOG.warning(
                "the plan of micro-batch %s in %s is damaged; it is made anew", name, run.uri
            )
            run.delete(f"checkpoint/offsets/{name}")
            run.delete(f"checkpoint/offsets/.{name}.crc")


def _damaged(run: FileStore, what: str) -> CorruptState:
    return CorruptState(
        f"the checkpoint in {run.uri} is damaged: {what}",
        hint="Restore it from a copy, or start from a savepoint in a new folder; "
        "nothing is processed before you decide.",
    )
