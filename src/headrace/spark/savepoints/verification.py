"""Looking a checkpoint over before a job goes on from it.

Spark starts anew without a word where its logs are gone, and runs a batch again where the record
of its end is. What the job itself noted after each micro-batch shows that something is missing.
State itself is not looked at here: Spark checks it as it reads it.
"""

from __future__ import annotations

import json
import logging
from typing import Any
from zlib import crc32

from headrace.errors import CorruptState
from headrace.spark.checked_json import dumped, loaded
from headrace.spark.file_store import FileStore
from headrace.spark.flow.checkpoint_files import last_checkpoint, require_files
from headrace.spark.savepoints.checkpoint import PLAN, last_committed

PROGRESS = "progress.json"
_CRC_HEADER = b"crc\0"
"""How a file of checksums begins that Hadoop keeps beside a local file."""
_LOG = logging.getLogger("headrace")


def note_progress(run: FileStore, batch: int) -> None:
    """Remember that a micro-batch was committed, and what its offsets were."""
    offsets = run.read(f"checkpoint/offsets/{batch}")
    run.write(PROGRESS, dumped({"batch": batch, "offsets": crc32(offsets)}))


def read_note(run: FileStore, name: str) -> dict[str, Any]:
    """One of the small files beside Spark's checkpoint."""
    try:
        return loaded(run.read(name))
    except FileNotFoundError:
        raise _damaged(run, f"{name} is missing") from None
    except ValueError:
        raise _damaged(run, f"{name} is not what was written") from None


def verify_run(run: FileStore, *, repair: bool = True) -> None:
    """Refuse a checkpoint that has lost something; forget a torn plan that nothing came of.

    Whoever only looks at the checkpoint, maybe of a running job, must not `repair` it.
    """
    if not run.exists():
        raise _damaged(run, "the folder is missing")
    plan = read_note(run, PLAN)
    flowing = last_checkpoint(run)
    if flowing is not None:
        require_files(run, flowing)
        return
    committed = last_committed(run)
    noted = read_note(run, PROGRESS) if run.exists(PROGRESS) else None
    if noted is not None and (committed is None or committed < noted["batch"]):
        raise _damaged(run, f"the commit log has lost micro-batch {noted['batch']}")
    if committed is not None:
        _require_logs(run, committed, noted)
        for level in range(int(plan.get("levels", 0))):
            _require_description(run, f"checkpoint/state/{level}")
    if repair:
        _drop_torn_plans(run, -1 if committed is None else committed)


def _require_logs(run: FileStore, committed: int, noted: dict[str, Any] | None) -> None:
    _require_log(run, "checkpoint/metadata", header=False)
    _require_log(run, f"checkpoint/commits/{committed}")
    offsets = _require_log(run, f"checkpoint/offsets/{committed}")
    if noted is not None and noted["batch"] == committed and noted["offsets"] != crc32(offsets):
        raise _damaged(run, f"checkpoint/offsets/{committed} is not what was written")
    if committed > 0:  # Spark reads where the last batch began, too
        _require_log(run, f"checkpoint/offsets/{committed - 1}")
    _require_seen_files(run, offsets)


def _require_log(run: FileStore, name: str, *, header: bool = True) -> bytes:
    try:
        content = run.read(name)
    except FileNotFoundError:
        raise _damaged(run, f"{name} is missing") from None
    if not _whole(content, header):
        raise _damaged(run, f"{name} cannot be read")
    if not as_written(run, name, content):
        raise _damaged(run, f"{name} is not what was written")
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


def as_written(run: FileStore, name: str, content: bytes) -> bool:
    """Whether a file fits the checksums beside it, where there are any."""
    folder, _, file = name.rpartition("/")
    try:
        sums = run.read(f"{folder}/.{file}.crc")
    except FileNotFoundError:
        return True
    size = int.from_bytes(sums[4:8], "big")
    if not sums.startswith(_CRC_HEADER) or not size:
        return True  # it is not the log that is damaged; Spark goes without it, too
    parts = (content[start : start + size] for start in range(0, len(content), size))
    return sums[8:] == b"".join(crc32(part).to_bytes(4, "big") for part in parts)


def _require_description(run: FileStore, state: str) -> None:
    """What Spark wrote of a level's state when it began: without it, it may begin anew."""
    for folder in (f"{state}/_metadata/v2", f"{state}/_stateSchema/default"):
        names = [name for name in run.names(folder) if not name.startswith(".")]
        if not names:
            raise _damaged(run, f"{folder} is missing or empty")
        for name in names:
            content = run.read(f"{folder}/{name}")
            if not content or not as_written(run, f"{folder}/{name}", content):
                raise _damaged(run, f"{folder}/{name} is not what was written")


def _require_seen_files(run: FileStore, offsets: bytes) -> None:
    """The logs of what was read from folders must reach as far as the offsets say.

    Each is numbered; every tenth or so has all that came before it.
    """
    for number, line in enumerate(offsets.decode().splitlines()[2:]):
        offset = None if line in ("-", "") else json.loads(line)
        if not isinstance(offset, dict) or "logOffset" not in offset:
            continue
        folder = f"checkpoint/sources/{number}"
        names = set(run.names(folder))
        for entry in range(int(offset["logOffset"]), -1, -1):
            compact = f"{entry}.compact"
            if compact in names:
                _require_log(run, f"{folder}/{compact}")
                break
            _require_log(run, f"{folder}/{entry}")


def _drop_torn_plans(run: FileStore, committed: int) -> None:
    """A batch that was planned but never committed may be planned anew: nothing came of it."""
    for number in run.names("checkpoint/offsets"):
        if not number.isdigit() or int(number) <= committed:
            continue
        name = f"checkpoint/offsets/{number}"
        content = run.read(name)
        if not _whole(content, True) or not as_written(run, name, content):
            _LOG.warning(
                "the plan of micro-batch %s in %s is damaged; it is made anew", number, run.uri
            )
            run.delete(name)
            run.delete(f"checkpoint/offsets/.{number}.crc")


def _damaged(run: FileStore, what: str) -> CorruptState:
    return CorruptState(
        f"the checkpoint in {run.uri} is damaged: {what}",
        hint="Restore it from a copy, or start from a savepoint in a new folder; "
        "nothing is processed before you decide.",
    )
