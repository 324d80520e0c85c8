"""What others have sent to a task and it has not worked off yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from headrace.errors import JobFailed
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.flow.parcels import BARRIER, END, RECORDS, Parcel


class Intake:
    """Parcels in the order they came, but for those that wait for a barrier."""

    def __init__(self, id: TaskId, senders: Collection[int]):
        self._id = id
        self._senders = frozenset(senders)
        self._expected: dict[int, int] = {}
        self._waiting: deque[Parcel] = deque()
        self._held: deque[Parcel] = deque()
        self.ahead: set[int] = set()
        """Senders whose barrier has been reached."""
        self.over: set[int] = set()
        """Senders that will send no more."""

    def arrive(self, blob: bytes) -> Parcel:
        """Take a parcel in; it waits for its turn."""
        parcel = Parcel.decode(blob)
        expected = self._expected.get(parcel.sender, 0)
        if parcel.number != expected:
            raise JobFailed(
                f"task {self._id} was given parcel {parcel.number} of sender {parcel.sender} "
                f"instead of number {expected}",
                hint="Spark has lost or repeated a part of the stream; the job goes on from its "
                "last checkpoint.",
            )
        self._expected[parcel.sender] = expected + 1
        self._waiting.append(parcel)
        return parcel

    def put_back(self, parcels: list[Parcel]) -> None:
        """What was on its way when a checkpoint was taken, before all that is sent from now on.

        It counts against nobody's window, and need not: it is what the windows of the time had
        room for, and until it is worked off nobody hears of more room than a first window. So a
        task has at most one of these from each sender beside it, for every restart that has not
        come to its end.
        """
        self._waiting.extend(parcels)

    @property
    def has_work(self) -> bool:
        return bool(self._waiting)

    def peek(self, *, holds: bool) -> Parcel | None:
        """The parcel whose turn it is; if `holds`, those behind a barrier wait."""
        while self._waiting:
            parcel = self._waiting[0]
            if not (holds and parcel.sender in self.ahead):
                return parcel
            self._held.append(self._waiting.popleft())
        return None

    def next(self, *, holds: bool) -> Parcel | None:
        """Take the parcel whose turn it is."""
        parcel = self.peek(holds=holds)
        if parcel is not None:
            self._waiting.popleft()
        return parcel

    @property
    def barriers_are_here(self) -> bool:
        """Whether the barrier of everybody has been reached who will send one."""
        return self.ahead | self.over == self._senders

    @property
    def is_over(self) -> bool:
        return self.over == self._senders

    def release(self) -> None:
        """Nobody is ahead any more: those that were held have their turn first."""
        self.ahead.clear()
        self._waiting.extendleft(reversed(self._held))
        self._held.clear()

    def before_barriers(self, checkpoint: int) -> tuple[list[Parcel], set[int]]:
        """The records here that lie before a barrier, and whose barrier has not come yet."""
        missing = set(self._senders - self.ahead - self.over)
        found = []
        for parcel in self._waiting:
            if parcel.was_kept:
                found.append(parcel)
            elif parcel.sender in missing:
                if ends(parcel, checkpoint):
                    missing.discard(parcel.sender)
                elif parcel.kind == RECORDS:
                    found.append(parcel)
        return found, missing


def ends(parcel: Parcel, checkpoint: int) -> bool:
    """Whether what a sender sends after this one is not part of a checkpoint."""
    return parcel.kind == END or (parcel.kind == BARRIER and parcel.checkpoint >= checkpoint)
