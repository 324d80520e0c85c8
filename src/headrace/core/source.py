"""What a source is: a description of an input, read by the engine in splits with positions."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headrace.core.operator import Batch
from headrace.core.types import TypeInformation
from headrace.errors import Unsupported

T = TypeVar("T")


class Boundedness(enum.Enum):
    """Whether an input ends."""

    BOUNDED = "bounded"
    CONTINUOUS_UNBOUNDED = "unbounded"


@dataclass(frozen=True, slots=True)
class Split:
    """A part of an input that is read in order by one reader at a time.

    `info` must be JSON: it is kept with the job's positions.
    """

    id: str
    info: Any = None


class SplitEnumerator(ABC):
    """Runs beside the job's driver: knows the splits and how far each may be read now."""

    @abstractmethod
    def splits(self) -> list[Split]:
        """The splits known now; asked again before each micro-batch, so more may appear."""

    def initial_position(self, split: Split) -> Any:
        """Where a split starts; any JSON value."""
        return 0

    @abstractmethod
    def latest_position(self, split: Split, start: Any) -> Any:
        """Up to where (exclusive) the split can be read now; `start` when nothing is new.

        For a bounded source that has no more to come, the split's end.
        """

    def is_at_end(self, split: Split, position: Any) -> bool:
        """Of a bounded source: whether nothing follows that position, now or later."""
        return bool(self.latest_position(split, position) == position)

    @property
    def has_named_all(self) -> bool:
        """Of a bounded source: whether `splits` has named all there will be, if it names no new
        one."""
        return True

    def split_ended(self, id: str) -> bool:
        """A split was read to its end; whether there may be others because of it."""
        return False

    def is_over(self, split: Split, position: Any) -> bool:
        """Of an endless source whose splits come and go: whether one has nothing more to give."""
        return False

    positions_count_records = False
    """Whether positions are whole numbers that go up by one with each record. Then what is still
    to be read can be counted, and a long backlog is read in pieces."""

    def records_between(self, split: Split, start: Any, end: Any) -> int | None:
        """About how many records there are from `start` up to `end`; None: nobody knows."""
        return end - start if self.positions_count_records else None

    def position_after(self, split: Split, start: Any, end: Any, records: int) -> Any:
        """The position about `records` records after `start` and not after `end`.

        Asked when more can be read than a micro-batch should take. It must be after `start`; where
        the split cannot be cut it is `end`.
        """
        return min(end, start + max(1, records)) if self.positions_count_records else end

    def cuts(self, split: Split, start: Any, end: Any) -> list[Any]:
        """Positions between the two, in order, if several readers may share that range.

        Only for a source whose splits come and go: elsewhere a split is read in order.
        """
        return []

    def restore(self, splits: list[Split]) -> None:
        """Told first when a job goes on: the splits that a checkpoint has positions of."""

    def checkpoint_completed(self, positions: dict[str, Any]) -> None:
        """Everything up to these positions, by split, is durable; asked beside the driver. Must not
        fail, and not wait long."""

    def close(self) -> None:
        """Release what the enumerator holds."""


class SplitReader(ABC, Generic[T]):
    """Runs in a worker."""

    @abstractmethod
    def read(self, split: Split, start: Any, end: Any) -> Iterable[T]:
        """The records from `start` up to `end`; the same ones whenever it is asked again."""

    def read_lists(self, split: Split, start: Any, end: Any) -> Iterator[list[T]] | None:
        """The same records, many at a time, where that is cheaper; None: use `read`."""
        return None

    def read_batches(self, split: Split, start: Any, end: Any) -> Iterator[Batch] | None:
        """The same records with the event times that the source knows of them; None: use the
        others."""
        return None

    follows = False
    """Whether a task that goes on reading calls `follow` instead of reading ranges."""

    def is_followed(self, split: Split) -> bool:
        """Whether that holds for a split."""
        return self.follows

    def follow(self, split: Split, position: Any) -> tuple[Batch, Any] | None:
        """The records from a position on that are there by now, and the position after them.

        It must not wait. None: the split has come to its end.
        """
        raise Unsupported(
            f"{type(self).__name__} cannot follow a split",
            hint="A reader with `follows = True` overrides follow(split, position).",
        )

    def known_end(self, split: Split) -> Any | None:
        """Of a split that is followed: up to where there are records, as far as is known without
        asking; None: nobody knows."""
        return None

    def timestamp(self, record: T) -> int | None:
        """The event time the source itself knows of a record, in milliseconds."""
        return None

    def close(self) -> None:
        """Release what the reader holds."""


class LiveReader(ABC, Generic[T]):
    """Runs in a worker that goes on reading: takes what its split has, as it comes."""

    @abstractmethod
    def poll(self, split: Split, position: Any) -> tuple[list[T], Any] | None:
        """The records from a position on that are there by now, and the position after them.

        It must not wait. None: the split has come to its end.
        """

    acknowledges = False
    """Whether `acknowledge` does something. Then a position that went on is news without records,
    too."""

    def acknowledge(self, split: Split, position: Any) -> None:
        """Everything up to this position, which this reader has given, is durable, or was handed
        on by a job that takes no checkpoints. Called between two polls; must not wait long."""

    def close(self) -> None:
        """Release what the reader holds."""


class Source(ABC, Generic[T]):
    """A user-written source: a factory of an enumerator and of readers.

    Positions are kept in the job's checkpoint: after a failure reading goes on where the last
    completed micro-batch ended.
    """

    @abstractmethod
    def create_enumerator(self) -> SplitEnumerator: ...

    @abstractmethod
    def create_reader(self) -> SplitReader[T] | LiveReader[T]: ...

    splits_end = False
    """Whether splits come and go, as files do. Then one that has been read holds nobody's time
    back; otherwise the watermark is the smallest of all splits'."""
    in_steps = False
    """Whether in real time, too, it gives what is between two positions and then a watermark, and
    lets others hear of it before it goes on: as in a micro-batch."""

    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def produced_type(self) -> TypeInformation | None:
        return None


@dataclass(frozen=True, slots=True)
class SourceSpec(ABC):
    """How the engine reads an input; one subclass per way of reading."""

    @property
    def bounded(self) -> bool:
        return True

    @property
    def label(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class CollectionSpec(SourceSpec):
    """Values that came with the program."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TextFilesSpec(SourceSpec):
    """Lines of files; `decode` turns a chunk of lines into records."""

    paths: tuple[str, ...]
    watch: bool = False
    decode: Callable[[list[str]], list[Any]] | None = None
    charset: str = "UTF-8"

    @property
    def bounded(self) -> bool:
        return not self.watch


@dataclass(frozen=True, slots=True)
class SocketTextSpec(SourceSpec):
    """Lines from a TCP connection."""

    host: str
    port: int

    @property
    def bounded(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class SplitSpec(SourceSpec):
    """A source with an enumerator and readers."""

    source: Source[Any]

    @property
    def bounded(self) -> bool:
        return self.source.boundedness() is Boundedness.BOUNDED

    @property
    def label(self) -> str:
        return type(self.source).__name__


class OnDriver:
    """Holds what only the driver needs; it does not travel to the workers."""

    def __init__(self, value: Any = None):
        self.value = value

    def __reduce__(self) -> tuple[type[OnDriver], tuple[()]]:
        return OnDriver, ()


@dataclass(frozen=True, slots=True)
class FrameSpec(SourceSpec):
    """Rows that Spark reads itself, as tuples of a change's kind and the columns' values.

    `frame` holds a function of a session and a list of files that makes the DataFrame of these
    files; None: of all there are. Its columns have `types` (`headrace.core.logical_types`)."""

    frame: OnDriver
    types: tuple[Any, ...]
    ends: bool = True
    name: str = "table"
    by_files: bool = False
    """Whether it is made of files, which can be read one after the other."""

    @property
    def bounded(self) -> bool:
        return self.ends

    @property
    def label(self) -> str:
        return self.name
