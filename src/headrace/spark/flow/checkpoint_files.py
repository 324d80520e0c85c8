"""Checkpoints of a run, as files of its folder.

    claims/<k>              says that somebody has taken the number k, and that no other may
    attempts/<k>            attempt k at running the job: the checkpoint it began with, and whether
                            it has any of its own
    checkpoints/<n>-<k>     checkpoint n of attempt k: what belongs to it, file by file
    state/<k>-…             what tasks of attempt k wrote

Of attempts only the last counts; once it has a checkpoint, the files of earlier ones go. Attempts
count up. What an earlier attempt writes after a later one has begun is in nobody's list:
a driver or a worker that wakes up late can write, but nothing it wrote is ever read.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

from headrace.errors import CorruptState
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.master import Superseded
from headrace.spark.checked_json import dumped, loaded
from headrace.spark.file_store import FileStore

_LOG = logging.getLogger("headrace")
CLAIMS, ATTEMPTS, CHECKPOINTS, STATE = "claims", "attempts", "checkpoints", "state"
_BEGAN_WITH, _HAS_OWN = "began_with", "has_own"


class CheckpointFiles:
    """The checkpoints of one attempt, the last few of which are kept."""

    def __init__(self, run: FileStore, attempt: int, retained: int, is_run: Callable[[], bool]):
        """`is_run`: whether the job is still in this run."""
        self._is_run = is_run
        self._run = run
        self._attempt = attempt
        self._retained = retained
        self._kept: list[Checkpoint] = []
        self._held: list[Checkpoint] = []
        self._read: list[Checkpoint] = []
        self._wanted: set[int] = set()
        self._is_noted = False
        """Whether it is written down that this attempt has checkpoints."""
        self._lock = threading.Lock()

    def want(self, number: int) -> None:
        """A checkpoint under way is to stay until somebody has held it."""
        with self._lock:
            self._wanted.add(number)

    def forget(self, number: int) -> None:
        """Nobody will hold that checkpoint."""
        with self._lock:
            self._wanted.discard(number)
            self._held = [held for held in self._held if held.number != number]

    @contextmanager
    def hold(self, number: int | None = None) -> Iterator[int | None]:
        """Keep a checkpoint while somebody reads it: one that was wanted, or else the last one of
        all; its number, or None if this attempt has none yet."""
        with self._lock:
            wanted = [checkpoint for checkpoint in self._held if checkpoint.number == number]
            held = wanted or self._kept[-1:]
            self._held = [each for each in self._held if each not in wanted]
            self._read += held
        try:
            yield held[0].number if held else None
        finally:
            with self._lock:
                for checkpoint in held:
                    self._read.remove(checkpoint)

    def is_current(self) -> bool:
        return self._is_run() and max(_attempts(self._run), default=0) == self._attempt

    def save(self, checkpoint: Checkpoint) -> None:
        self._run.write(f"{CHECKPOINTS}/{checkpoint.name}", dumped(checkpoint.to_json()))
        if not self._is_noted:
            # Else a job that has lost its checkpoints would look like one that never had any.
            self._is_noted = True
            try:
                begun = _read_attempt(self._run, self._attempt)
            except FileNotFoundError:  # a later one has a checkpoint, and has cleared up
                raise Superseded from None
            _write_attempt(self._run, self._attempt, {**begun, _HAS_OWN: True})
            self._forget_earlier_attempts()
        with self._lock:
            self._kept = [*self._kept, checkpoint][-self._retained :]
            if checkpoint.number in self._wanted:
                self._wanted.remove(checkpoint.number)
                self._held.append(checkpoint)

    def clean(self) -> None:
        with self._lock:
            needed = [*self._kept, *self._held, *self._read]
        self._remove_all_but(needed)

    def _remove_all_but(self, checkpoints: list[Checkpoint]) -> None:
        kept = {checkpoint.name for checkpoint in checkpoints}
        for name in self._run.names(CHECKPOINTS):
            if name not in kept:
                self._run.delete(f"{CHECKPOINTS}/{name}")
        newest = self._kept[-1]
        needed = {file for checkpoint in checkpoints for file in checkpoint.files()}
        for name in self._run.names(STATE):
            if not name.startswith(".") and name not in needed and _is_before(name, newest):
                self._run.delete(f"{STATE}/{name}")

    def _forget_earlier_attempts(self) -> None:
        """Nobody asks for them: this one has a checkpoint. Their numbers are not given out again,
        for whoever takes one sees that there is a later attempt."""
        for folder in (CLAIMS, ATTEMPTS):
            for name in self._run.names(folder):
                if name.isdigit() and int(name) < self._attempt:
                    self._run.delete(f"{folder}/{name}")


def _is_before(file: str, checkpoint: Checkpoint) -> bool:
    """Whether a file was written for that checkpoint or one before, not for one to come."""
    attempt, _, _, number, *_ = file.split("-")
    return (int(attempt), int(number)) <= (checkpoint.attempt, checkpoint.number)


def begin_attempt(
    run: FileStore, after: int | None = None, *, fall_back: bool = False
) -> tuple[int, Checkpoint | None]:
    """Begin another attempt: its number, and the checkpoint it goes on from.

    `after`: the attempt before, if it was the same driver's: another driver's may have followed it.
    `fall_back`: go on from an earlier checkpoint if the last one is damaged.
    """
    last = _last_whole(run) if fall_back else last_checkpoint(run)
    before = max(_attempts(run), default=0)
    if after is not None and before != after:
        raise Superseded
    number = before + 1
    # Of drivers that start in the same instant, the one with the last number goes on. Who was
    # asleep since it looked may find a number free that was taken and has been forgotten.
    while not run.claim(f"{CLAIMS}/{number}") or max(_attempts(run), default=0) >= number:
        number += 1
    _write_attempt(run, number, {_BEGAN_WITH: None if last is None else last.name})
    return number, last


def last_checkpoint(run: FileStore) -> Checkpoint | None:
    """The checkpoint to go on from: the last one of the last attempt, or what that began with."""
    name = last_checkpoint_name(run)
    return None if name is None else _read(run, name)


def next_number(run: FileStore) -> int:
    """A number that no checkpoint has, not even one that was fallen back from: output is named by
    it."""
    numbers = [name.partition("-")[0] for name in run.names(CHECKPOINTS)]
    return max((int(number) for number in numbers if number.isdigit()), default=0) + 1


def _last_whole(run: FileStore) -> Checkpoint | None:
    """The last checkpoint of which nothing is damaged, if that is one of the last attempt's."""
    name = last_checkpoint_name(run)
    if name is None:
        return None
    number, _, attempt = name.partition("-")
    of_attempt = [each for each in run.names(CHECKPOINTS) if each.endswith(f"-{attempt}")]
    # Those after it were written when another attempt had begun.
    earlier = [each for each in of_attempt if int(each.partition("-")[0]) <= int(number)]
    earlier.sort(key=lambda each: int(each.partition("-")[0]), reverse=True)
    damage: CorruptState | None = None
    for each in earlier or [name]:
        try:
            checkpoint = _read(run, each)
            require_files(run, checkpoint, contents=True)
        except CorruptState as error:
            damage = damage or error
            continue
        if damage is not None:
            _LOG.warning(
                "checkpoint %s in %s is damaged, the job goes on from checkpoint %d: %s",
                name.partition("-")[0],
                run.uri,
                checkpoint.number,
                damage.message,
            )
        return checkpoint
    raise damage or _damaged(run, f"{CHECKPOINTS}/{name} is missing")


def read_checkpoint(run: FileStore, number: int) -> Checkpoint | None:
    """A checkpoint by its number, of the last attempt that has one; None if there is none."""
    names = [name for name in run.names(CHECKPOINTS) if name.partition("-")[0] == str(number)]
    return _read(run, max(names, key=lambda name: int(name.partition("-")[2]))) if names else None


def _read(run: FileStore, name: str) -> Checkpoint:
    try:
        return Checkpoint.from_json(loaded(run.read(f"{CHECKPOINTS}/{name}")))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        raise _damaged(run, f"{CHECKPOINTS}/{name} is missing or not what was written") from None


def last_checkpoint_name(run: FileStore) -> str | None:
    attempt = max(_attempts(run), default=None)
    names = run.names(CHECKPOINTS)
    if attempt is None:
        if names:
            raise _damaged(run, f"{ATTEMPTS} is missing")
        return None
    own = [name for name in names if name.endswith(f"-{attempt}")]
    if own:
        return max(own, key=lambda name: int(name.partition("-")[0]))
    try:
        begun = _read_attempt(run, attempt)
    except FileNotFoundError:  # a later one has cleared up since
        return last_checkpoint_name(run)
    if begun.get(_HAS_OWN):
        raise _damaged(run, f"what attempt {attempt} wrote to {CHECKPOINTS} is missing")
    began_with = begun[_BEGAN_WITH]
    return None if began_with is None else str(began_with)


def _read_attempt(run: FileStore, number: int) -> dict[str, Any]:
    try:
        return loaded(run.read(f"{ATTEMPTS}/{number}"))
    except ValueError:
        raise _damaged(run, f"{ATTEMPTS}/{number} is not what was written") from None


def _write_attempt(run: FileStore, number: int, content: dict[str, Any]) -> None:
    run.write(f"{ATTEMPTS}/{number}", dumped(content))


def require_files(run: FileStore, checkpoint: Checkpoint, *, contents: bool = False) -> None:
    """Refuse a checkpoint of which a file is missing or not as long as it was; or, if all of them
    are read, does not hold what it held."""
    sizes = run.sizes(STATE)
    for files in checkpoint.slots.values():
        for file in files.all_files:
            name = f"{STATE}/{file.name}"
            if file.name not in sizes:
                raise _damaged(run, f"{name} is missing")
            is_whole = sizes[file.name] == file.size
            if not is_whole or (contents and crc32(run.read(name)) != file.checksum):
                raise _damaged(run, f"{name} is not what was written")


def _attempts(run: FileStore) -> list[int]:
    return [int(name) for name in run.names(ATTEMPTS) if name.isdigit()]


def _damaged(run: FileStore, what: str) -> CorruptState:
    return CorruptState(
        f"the checkpoint in {run.uri} is damaged: {what}",
        hint="Restore it from a copy, or start from a savepoint in a new folder; nothing is "
        "processed before you decide.",
    )
