"""Checkpoints of a run, as files of its folder.

    claims/<k>-<driver>     a driver has taken the number k for an attempt at running the job
    attempts/<k>            the checkpoint that attempt k began with
    attempts/<k>-own        says that it has checkpoints of its own
    checkpoints/<n>-<k>     checkpoint n of attempt k: what belongs to it, file by file
    state/<k>-…             what tasks of attempt k wrote

Of attempts only the last counts; once it has a checkpoint, the files of earlier ones go. Attempts
count up. Who begins one takes a number first and then looks which checkpoint is the last, and who
writes a checkpoint looks afterwards whether its number is still the last: so either the one sees
the checkpoint, or the other sees that it no longer counts (decision 25). All that is asked of a
file system is that a file is in the list of its folder once it is written; none is written anew,
for some would remove it first.
"""

from __future__ import annotations

import logging
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from zlib import crc32

from headrace.core.crash_points import reach
from headrace.errors import CorruptState
from headrace.runtime.flow.checkpoint import Checkpoint, CheckpointId
from headrace.runtime.flow.master import Superseded
from headrace.spark.checked_json import dumped, loaded
from headrace.spark.file_store import FileStore, finished_name

_LOG = logging.getLogger("headrace")
CLAIMS, ATTEMPTS, CHECKPOINTS, STATE = "claims", "attempts", "checkpoints", "state"
_BEGAN_WITH, _OWN = "began_with", "-own"
_HAS_OWN = "has_own"
"""Where this was once said, beside what an attempt began with."""
_AT_ONCE = 8
_Found = TypeVar("_Found", Checkpoint, CheckpointId)


class Claims:
    """The numbers that one driver takes in a run, one for each of its attempts."""

    def __init__(self, run: FileStore):
        self._run = run
        self._driver = uuid.uuid4().hex[:8]
        self._taken: list[int] = []
        self._known: int | None = None
        """Any greater number of another driver was taken after this one had come."""

    def take(self) -> int:
        """Take the next number: from now on no checkpoint of an earlier one comes about.

        Raises Superseded if another driver has taken one since this one came.
        """
        others = self._last_of_others()
        if self._known is None:
            self._known = others
        elif others > self._known:
            raise Superseded
        number = self._claim(max(others, *self._taken, 0) + 1)
        while (others := self._last_of_others()) >= number:
            # Of drivers that start in the same instant none keeps a number that another may have,
            # and the one with the last number goes on. Each tries another: else they would meet
            # again.
            number = self._claim(others + 1 + random.randrange(_AT_ONCE))
        self._known = number
        reach("attempt.claimed", number)
        return number

    def _claim(self, number: int) -> int:
        self._taken.append(number)
        self._run.write(f"{CLAIMS}/{number}-{self._driver}", b"")
        return number

    def is_last(self) -> bool:
        """Whether nobody has taken a number since."""
        return max(_numbers(self._run, CLAIMS), default=0) == self._known

    def _last_of_others(self) -> int:
        claimed = [
            int(number)
            for number, _, driver in (name.partition("-") for name in self._run.names(CLAIMS))
            if number.isdigit() and driver != self._driver
        ]
        begun = set(_numbers(self._run, ATTEMPTS)).difference(self._taken)
        return max((*claimed, *begun), default=0)


class CheckpointFiles:
    """The checkpoints of one attempt, the last few of which are kept."""

    def __init__(self, run: FileStore, attempt: int, retained: int, is_current: Callable[[], bool]):
        """`is_current`: whether no other attempt at the job has begun since."""
        self.is_current = is_current
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

    def save(self, checkpoint: Checkpoint) -> None:
        self._run.write(f"{CHECKPOINTS}/{checkpoint.name}", dumped(checkpoint.to_json()))
        if not self._is_noted:
            # Else a job that has lost its checkpoints would look like one that never had any.
            self._is_noted = True
            self._run.write(f"{ATTEMPTS}/{self._attempt}{_OWN}", b"")
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
            # Those of later attempts are there if this one has slept before it came here.
            is_own = _attempt_of(CHECKPOINTS, name) in range(self._attempt + 1)
            if is_own and name not in kept:
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
                if _attempt_of(folder, finished_name(name) or name) in range(self._attempt):
                    self._run.delete(f"{folder}/{name}")


def _is_before(file: str, checkpoint: Checkpoint) -> bool:
    """Whether a file was written for that checkpoint or one before, not for one to come."""
    attempt, _, _, number, *_ = file.split("-")
    return (int(attempt), int(number)) <= (checkpoint.attempt, checkpoint.number)


def begin_attempt(
    run: FileStore, claims: Claims | None = None, *, fall_back: bool = False
) -> tuple[int, Checkpoint | None]:
    """Begin another attempt: its number, and the checkpoint it goes on from.

    `claims`: those of a driver that may have begun some before: another's may have followed them.
    `fall_back`: go on from an earlier checkpoint if the last one is damaged.
    """
    return _begin(run, claims or Claims(run), _last_whole if fall_back else last_checkpoint)


def end_run(run: FileStore, claims: Claims) -> tuple[int, CheckpointId | None]:
    """Let nobody go on with a run: the number by which that was said, and the checkpoint that the
    run has come to."""
    return _begin(run, claims, last_checkpoint_id)


def _begin(
    run: FileStore, claims: Claims, find_last: Callable[[FileStore], _Found | None]
) -> tuple[int, _Found | None]:
    number = claims.take()
    try:
        last = find_last(run)
    except CorruptState:
        if not claims.is_last():  # another has gone on, and has cleared up
            raise Superseded from None
        raise
    began_with = {_BEGAN_WITH: None if last is None else last.name}
    run.write(f"{ATTEMPTS}/{number}", dumped(began_with))
    reach("attempt.decided", number)
    # One that has taken a number since may have found another checkpoint, which then counts.
    if not claims.is_last():
        raise Superseded
    _remove_unfinished(run, number)
    return number, last


def _remove_unfinished(run: FileStore, attempt: int) -> None:
    """What writers of earlier attempts had begun when they were killed."""
    for folder in (STATE, CHECKPOINTS):
        for name in run.names(folder):
            finished = finished_name(name)
            if finished is not None and _attempt_of(folder, finished) in range(attempt):
                run.delete(f"{folder}/{name}")


def last_checkpoint(run: FileStore) -> Checkpoint | None:
    """The checkpoint to go on from: the last one of the last attempt, or what that began with."""
    last = last_checkpoint_id(run)
    return None if last is None else _read(run, last)


def next_number(run: FileStore) -> int:
    """A number that no checkpoint has, not even one that was fallen back from: output is named by
    it."""
    return max((id.number for id in _checkpoints(run)), default=0) + 1


def _last_whole(run: FileStore) -> Checkpoint | None:
    """The last checkpoint of which nothing is damaged, if that is one of the last attempt's."""
    last = last_checkpoint_id(run)
    if last is None:
        return None
    # Those after it were written when another attempt had begun.
    earlier = [
        id for id in _checkpoints(run) if id.attempt == last.attempt and id.number <= last.number
    ]
    damage: CorruptState | None = None
    for id in reversed(earlier or [last]):
        try:
            checkpoint = _read(run, id)
            require_files(run, checkpoint, contents=True)
        except CorruptState as error:
            damage = damage or error
            continue
        if damage is not None:
            _LOG.warning(
                "checkpoint %d in %s is damaged, the job goes on from checkpoint %d: %s",
                last.number,
                run.uri,
                checkpoint.number,
                damage.message,
            )
        return checkpoint
    raise damage or _damaged(run, f"{CHECKPOINTS}/{last.name} is missing")


def read_checkpoint(run: FileStore, number: int) -> Checkpoint | None:
    """A checkpoint by its number, of the last attempt that has one; None if there is none."""
    found = [id for id in _checkpoints(run) if id.number == number]
    return _read(run, found[-1]) if found else None


def _read(run: FileStore, id: CheckpointId) -> Checkpoint:
    name = f"{CHECKPOINTS}/{id.name}"
    try:
        return Checkpoint.from_json(loaded(run.read(name)))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        raise _damaged(run, f"{name} is missing or not what was written") from None


def last_checkpoint_id(run: FileStore) -> CheckpointId | None:
    """The last checkpoint of the last attempt that has said what it goes on from, or that one."""
    attempt = max(_begun(run), default=None)
    if attempt is None:
        if not _checkpoints(run):
            return None
        if not _begun(run):
            raise _damaged(run, f"{ATTEMPTS} is missing")
        return last_checkpoint_id(run)  # one has begun meanwhile
    own = _last_of(run, attempt)
    if own is not None:
        return own
    try:
        begun = _read_attempt(run, attempt)
    except FileNotFoundError:  # a later one has cleared up since
        return last_checkpoint_id(run)
    if begun.get(_HAS_OWN) or f"{attempt}{_OWN}" in run.names(ATTEMPTS):
        own = _last_of(run, attempt)  # it may be new
        if own is None:
            raise _damaged(run, f"what attempt {attempt} wrote to {CHECKPOINTS} is missing")
        return own
    began_with = begun[_BEGAN_WITH]
    return None if began_with is None else CheckpointId.parse(began_with)


def _begun(run: FileStore) -> list[int]:
    """The attempts that have said what they go on from."""
    return [int(name) for name in run.names(ATTEMPTS) if name.isdigit()]


def _last_of(run: FileStore, attempt: int) -> CheckpointId | None:
    return max((id for id in _checkpoints(run) if id.attempt == attempt), default=None)


def _checkpoints(run: FileStore) -> list[CheckpointId]:
    """All that were written, in order."""
    found = map(CheckpointId.parse, run.names(CHECKPOINTS))
    return sorted(id for id in found if id is not None)


def _read_attempt(run: FileStore, number: int) -> dict[str, Any]:
    try:
        return loaded(run.read(f"{ATTEMPTS}/{number}"))
    except ValueError:
        raise _damaged(run, f"{ATTEMPTS}/{number} is not what was written") from None


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


def _attempt_of(folder: str, name: str) -> int | None:
    """The attempt that a file belongs to, by its name or what it begins with."""
    parts = name.split("-")
    number = parts[-1] if folder == CHECKPOINTS else parts[0]
    return int(number) if number.isdigit() else None


def _numbers(run: FileStore, folder: str) -> list[int]:
    """The attempts that have a file there."""
    found = (_attempt_of(folder, name) for name in run.names(folder))
    return [number for number in found if number is not None]


def _damaged(run: FileStore, what: str) -> CorruptState:
    return CorruptState(
        f"the checkpoint in {run.uri} is damaged: {what}",
        hint="Restore it from a copy, or start from a savepoint in a new folder; nothing is "
        "processed before you decide.",
    )
