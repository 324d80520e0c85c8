"""The events of partial matches, shared by all that have them in common.

A partial match knows the link of its last event; each link knows the one before it. Matches that
branch off after some event share all links up to it, and nothing refers to an event any more when
the last of its matches is gone. In state links and events are numbered, each written once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from headrace.core.types import Types

Stamp = tuple[int, int]
"""Time of an event, and its number among the key's events: the order of events."""


class Link(NamedTuple):
    """An event of a partial match, and the way to those before it."""

    before: Link | None
    stage: str
    stamp: Stamp
    event: Any


class Run(NamedTuple):
    """A partial match: the number of the state it waits in, its last event, its first one."""

    state: int
    last: Link
    start: Stamp


Packed = tuple[
    int,
    list[tuple[int, int, Any]],
    list[tuple[int, str, int]],
    list[tuple[str, int, int, int]],
    list[tuple[int, int, int]],
]
"""What is stored for a key: the number of its next event; events as (number, time, event); links
as (position of the one before or -1, stage, position of the event); partial matches as (state,
position of the last link, time and number of the first event); complete ones that still wait for
earlier partial matches, likewise without a state."""
_NUMBER, _NAME = Types.LONG(), Types.STRING()
PACKED_TYPE = Types.TUPLE(
    [
        _NUMBER,
        Types.LIST(Types.TUPLE([_NUMBER, _NUMBER, Types.PICKLED_BYTE_ARRAY()])),
        Types.LIST(Types.TUPLE([_NUMBER, _NAME, _NUMBER])),
        Types.LIST(Types.TUPLE([_NAME, _NUMBER, _NUMBER, _NUMBER])),
        Types.LIST(Types.TUPLE([_NUMBER, _NUMBER, _NUMBER])),
    ]
)
"""The same for state; what the events are, only the program knows."""


NO_RUNS: list[Run] = []
"""Most keys have none most of the time; lists of runs are replaced, never changed."""


class Matches:
    """All partial matches of one key, the one that began first at the front."""

    __slots__ = ("changed", "complete", "links", "runs", "sequence")

    def __init__(self) -> None:
        self.runs = NO_RUNS
        self.complete = NO_RUNS
        """Complete, but an earlier partial match may still make them void."""
        self.sequence = 0
        self.links = 0
        """How many links there are at most."""
        self.changed = False

    def is_empty(self) -> bool:
        return not self.runs and not self.complete

    def pack(self, names: list[str]) -> Packed:
        """In the form that is stored; `names` are those of the states."""
        links: list[Link] = []
        position: dict[int, int] = {}
        for run in (*self.runs, *self.complete):
            _place(run.last, links, position)
        events = {link.stamp[1]: (link.stamp[1], link.stamp[0], link.event) for link in links}
        place = {number: at for at, number in enumerate(events)}
        return (
            self.sequence,
            list(events.values()),
            [(-1 if link.before is None else position[id(link.before)], link.stage,
              place[link.stamp[1]]) for link in links],
            [(names[run.state], position[id(run.last)], *run.start) for run in self.runs],
            [(position[id(run.last)], *run.start) for run in self.complete],
        )  # fmt: skip

    def unpack(self, packed: Packed, numbers: dict[str, int]) -> None:
        """From the form that is stored; KeyError names a state the pattern does not have."""
        self.sequence, events, rows, runs, complete = packed
        links: list[Link] = []
        for before, stage, at in rows:
            number, time, event = events[at]
            links.append(Link(None if before < 0 else links[before], stage, (time, number), event))
        self.runs = [Run(numbers[name], links[at], (time, number))
                     for name, at, time, number in runs]  # fmt: skip
        self.complete = [Run(-1, links[at], (time, number)) for at, time, number in complete]
        self.links = len(links)


def _place(last: Link, links: list[Link], position: dict[int, int]) -> None:
    """Number a match's links that have no number yet, the first ones first."""
    fresh = []
    link: Link | None = last
    while link is not None and id(link) not in position:
        fresh.append(link)
        link = link.before
    for link in reversed(fresh):
        position[id(link)] = len(links)
        links.append(link)


def events_by_stage(last: Link | None) -> dict[str, list[Any]]:
    """The events of a match by stage, stages in the order of their first event."""
    links: list[Link] = []
    while last is not None:
        links.append(last)
        last = last[0]
    found: dict[str, list[Any]] = {}
    while links:
        _, stage, _, event = links.pop()
        events = found.get(stage)
        if events is None:
            found[stage] = [event]
        else:
            events.append(event)
    return found


def chain(last: Link | None) -> Iterable[Link]:
    """A match's links, the first one first."""
    found: list[Link] = []
    while last is not None:
        found.append(last)
        last = last.before
    found.reverse()
    return found
