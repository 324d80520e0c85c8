"""What tasks and their driver say to each other.

All of it is pickled and goes through a connection on which both ends have proved that they belong
to the same job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.core.source import Split
from headrace.runtime.declared_state import Declared
from headrace.runtime.driver_items import DriverItem
from headrace.runtime.event_time import Watermarks


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """One task of a job: of level 0 the number counts over the tasks of all sources."""

    level: int
    number: int

    def __str__(self) -> str:
        return f"{self.level}-{self.number}"


@dataclass(frozen=True, slots=True)
class StateFile:
    """A file with state of one slot."""

    name: str
    """Below the folder of the job's state."""
    size: int
    checksum: int
    """Of its content, by CRC-32."""


@dataclass(frozen=True, slots=True)
class SlotFiles:
    """The state of a slot: what the files say, one after the other."""

    files: tuple[StateFile, ...] = ()
    snapshot_bytes: int = 0
    """How many of their bytes are a whole snapshot; the others are changes since."""
    states: dict[tuple[str, str], Declared] = field(default_factory=dict)
    """By operator and name, as the program declares them."""
    in_flight: StateFile | None = None
    """Records that were on their way to the slot: they were sent before its state was taken, and
    are not part of it."""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def all_files(self) -> tuple[StateFile, ...]:
        return self.files if self.in_flight is None else (*self.files, self.in_flight)


Positions = dict[str, tuple[Any, Any]]
"""By the id of a split: what else is known of it, and from where to read on."""


@dataclass(frozen=True, slots=True)
class TaskFigures:
    """How a task took part in a checkpoint; times in milliseconds."""

    uids: tuple[str, ...]
    """Of its operators."""
    start_delay: int = 0
    """From the trigger until the first barrier was here."""
    alignment: int = 0
    """From then on until the last one was."""
    sync: int = 0
    """While records waited for the snapshot."""
    asynchronous: int = 0
    """While the snapshot was written, and records went on."""
    in_flight: int = 0
    """Bytes of records that are part of it."""


@dataclass(frozen=True, slots=True)
class TaskPart:
    """What one task contributes to a checkpoint."""

    state: SlotFiles | None = None
    positions: Positions = field(default_factory=dict)
    items: tuple[DriverItem, ...] = ()
    """What the task had to say to the driver since the checkpoint before."""
    wake_at: int | None = None
    """Of a task that works in rounds: when it has something to do even if nothing comes."""


# From a task to the driver.


@dataclass(frozen=True, slots=True)
class Hello:
    """A task has started."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class Ready:
    """A task has its state back and reads."""

    task: TaskId
    has_union_state: bool = False
    """Whether it has state that every subtask is given all of when a job starts."""


@dataclass(frozen=True, slots=True)
class Told:
    """What need not wait for a checkpoint."""

    task: TaskId
    items: tuple[DriverItem, ...]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A task's part of a checkpoint is durable."""

    task: TaskId
    checkpoint: int
    part: TaskPart
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Declined:
    """A task cannot be part of a checkpoint."""

    task: TaskId
    checkpoint: int
    reason: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A task has seen the end of its input; its part stands for every later checkpoint."""

    task: TaskId
    part: TaskPart
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkedOff:
    """How many bytes of a sender a task has worked off since it said so last."""

    task: TaskId
    sender: int
    size: int
    window: int
    """How many may be on their way from now on."""


@dataclass(frozen=True, slots=True)
class SplitEnded:
    """A source task has read a split to its end."""

    task: TaskId
    split: str


@dataclass(frozen=True, slots=True)
class TookPiece:
    """A source task has taken a piece that was read for it: another may follow."""

    task: TaskId


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a task has failed, in the form in which errors travel."""

    task: TaskId
    text: str


# From the driver to a task.


@dataclass(frozen=True, slots=True)
class Alignment:
    """What a task does between the first barrier of a checkpoint and the last."""

    holds: bool = True
    """Whether records behind a barrier wait; if not, they may count twice after a restart."""
    overtakes_after: int | None = None
    """Milliseconds after which a barrier overtakes the records before it, and these become part of
    the checkpoint; None: never."""


@dataclass(frozen=True, slots=True)
class Begin:
    """What a task begins with."""

    attempt: int
    checkpoint: int
    """The next checkpoint."""
    state: SlotFiles | None = None
    restored: int | None = None
    """The checkpoint whose state it is."""
    is_resumed: bool = False
    """Whether that was taken by an attempt before this one: any source task may read any split by
    now."""
    taken_over: bytes | None = None
    """Instead of its own files: what it is given of a savepoint, for whoever knows its form."""
    alignment: Alignment = field(default_factory=Alignment)
    round: Round | None = None
    """What is different for a task that lives for one checkpoint; None: it goes on and on."""


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a split."""

    split: Split
    start: Any
    end: Any
    ends: bool = False
    """Whether nothing of the split follows, now or later."""
    skip: int = 0
    """How many of its records were read before."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a task is to do between two checkpoints, and what it cannot know by itself.

    In a round all records come before time moves on: a task hears of the time of those before it
    when it has everything they send.
    """

    over: frozenset[int] = frozenset()
    """Those before it that have come to their end and send nothing any more."""
    resting: frozenset[int] = frozenset()
    """Those before it, if they are sources, that have nothing to read and hold nobody back."""
    times: Watermarks = field(default_factory=dict)
    """How far time had come at a source task, by operator and split."""
    ranges: tuple[Range, ...] = ()
    """What a source task reads."""
    records: tuple[tuple[str, list[Any]], ...] = ()
    """What the driver has read for a source task, by split."""
    ends: bool = False
    """Whether a source task comes to its end after that."""
    awaits_splits: bool = False
    """Whether nobody has said yet what there is to read: a source task cannot say that it is
    idle."""
    reads_all: bool = False
    """Whether a source task is alone in reading its source, and so knows all of its splits."""


@dataclass(frozen=True, slots=True)
class Assign:
    """Splits that a source task is to read from now on, and from where."""

    splits: tuple[tuple[Split, Any], ...]


@dataclass(frozen=True, slots=True)
class NoMoreSplits:
    """No split will follow: once those it has are read, a source task has come to its end."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Rows of a split that somebody else reads for a source task."""

    split: str
    rows: bytes = b""
    """As a stream of Arrow's."""
    is_last: bool = False
    """Whether the split has come to its end; then there are no rows."""


@dataclass(frozen=True, slots=True)
class Hold:
    """To a source task: which splits are ahead of others and must wait; no others need to."""

    splits: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pause:
    """To a source task: whether to read nothing for now. Barriers and time go on."""

    on: bool


@dataclass(frozen=True, slots=True)
class Trigger:
    """To a source task: put the barrier of a checkpoint into the stream."""

    checkpoint: int
    stops: bool = False
    """Whether to read no further: the job stops with this checkpoint."""
    is_exact: bool = False
    """As a `Barrier` says it."""


@dataclass(frozen=True, slots=True)
class Room:
    """A receiver has worked so many bytes off of what this task sent it."""

    slot: int
    size: int
    window: int
    """How many may be on their way from now on."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A checkpoint is complete."""

    checkpoint: int


@dataclass(frozen=True, slots=True)
class Drain:
    """To a source task: act as if all splits ended here."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The attempt is over: close what is open, and go."""


# What only the driver reaches: files, and other tasks. A task asks on a connection of its own and
# waits for the answer: what it says otherwise need not wait while a file is written.


@dataclass(frozen=True, slots=True)
class AsksForFiles:
    """In place of a Hello: each word on this connection has an answer."""


@dataclass(frozen=True, slots=True)
class WritePiece:
    """The next piece of a file with state; it is durable when the last one is answered."""

    name: str
    """Below the folder of the job's state."""
    content: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class ReadPiece:
    """Answered with bytes from some place of a file on, fewer than asked for where it ends."""

    name: str
    start: int
    size: int
    of_savepoint: bool = False
    """Whether it is a file of the savepoint the job begins with, not one of its own state."""


@dataclass(frozen=True, slots=True)
class BeginsReading:
    """Who reads for source tasks asks what of it is wanted."""

    reading: int


@dataclass(frozen=True, slots=True)
class WantedRows:
    """What of a reading is wanted: nothing of what was handed over before."""

    reader: int
    """Who reads; another who begins the same reading after this one takes its place."""
    skips: dict[str, int]
    """How many rows of each split are not wanted."""


@dataclass(frozen=True, slots=True)
class HandsOver:
    """The next rows of a split; answered when the task that they are for has room for more."""

    reading: int
    reader: int
    split: str
    count: int
    rows: bytes


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of a file; empty if a piece was written, or handed over."""

    content: bytes = b""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a file could not be written or read, or nobody wants what is handed over."""

    reason: str
    is_missing: bool = False
