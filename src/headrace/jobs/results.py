"""What a job sends to its driver: lines to print, records to collect, output to commit, counts."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.core.metrics import merge_snapshots
from headrace.core.operator import MIN_TIMESTAMP
from headrace.jobs.commits import SinkCommits
from headrace.jobs.journal import CommitJournal, Committables
from headrace.jobs.load import OperatorLoad, load_of
from headrace.jobs.watermarks import OperatorTime, WatermarkBoard
from headrace.operators.sinks import PrintOperator
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.driver_items import COUNTS, LOAD, PROGRESS, REACH, WRITTEN, DriverItem
from headrace.runtime.flow.load import Spent
from headrace.runtime.flow.splits import SplitReach

_LOAD_OVER = 0.5
"""Seconds that the load of a task is looked at over, at least."""
_OUTPUT = ("print", "collect", "commit")
"""Kinds of items that count only once their checkpoint is complete."""


class Collector(Protocol):
    """Who takes records for the program."""

    def put(self, values: list[Any]) -> None:
        """Some have come."""

    @property
    def is_full(self) -> bool:
        """Whether the program has to take some of them before more should come."""


@dataclass
class Counts:
    """What one subtask of one operator has counted, by the incarnation that counted it."""

    by_incarnation: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    watermark: int = MIN_TIMESTAMP
    """The event time of the subtask when it was last heard of."""
    loads: tuple[Spent, Spent] | None = None
    """In real time: what its task had spent its time on when it was last heard of, and before."""

    def note_load(self, load: Spent | None) -> None:
        if load is not None:
            before = Spent() if self.loads is None else self.loads[1]
            if load.total < before.total:  # another incarnation
                before = Spent()
            if load.total - before.total >= _LOAD_OVER:
                self.loads = before, load

    def total(self, name: str) -> int:
        return sum(int(counts[name]) for counts in self.by_incarnation.values())


class JobResults:
    """Handles what each checkpoint, or a whole batch, brought to the driver."""

    def __init__(
        self, plan: PhysicalPlan, collectors: Mapping[int, Collector] | None = None,
        print_line: Callable[[str], None] | None = None, journal: CommitJournal | None = None,
        *, may_lose_output: bool = False, may_repeat_output: bool = False,
    ):  # fmt: skip
        self._plan = plan
        self._print = print_line or _print_line
        self._collectors = {plan.vertices[id].uid: each for id, each in (collectors or {}).items()}
        self.gave_records = False
        """Whether the program has collected any that are part of no checkpoint."""
        self._hand_over = self._listeners()
        self._may_lose = may_lose_output
        self._may_repeat = may_repeat_output
        self.commits = self._commits(plan, journal or CommitJournal(None))
        self._written: list[Any] = []
        self._counts: dict[tuple[int, int], Counts] = {}
        self.reach: dict[tuple[int, int], dict[str, SplitReach]] = {}
        """In real time: by source and task, how far the splits have come that it reads."""
        self.batches = 0
        self.board = WatermarkBoard(plan)

    @property
    def waits_for_program(self) -> bool:
        """Whether so much has come that the program has not taken that nothing should be read."""
        return any(each.is_full for each in self._collectors.values())

    def _listeners(self) -> dict[str, Callable[[list[Any]], None]]:
        """Who takes what operators send to the driver, by their uids."""
        printing = {vertex.uid: self._print_errors if vertex.operator.to_error
                    else self._print_lines for vertex in self._plan.vertices.values()
                    if isinstance(vertex.operator, PrintOperator)}  # fmt: skip
        collecting = {uid: each.put for uid, each in self._collectors.items()}
        return {**printing, **collecting}

    def _print_lines(self, lines: list[str]) -> None:
        for line in lines:
            self._print(line)

    def _print_errors(self, lines: list[str]) -> None:
        for line in lines:
            print(line, file=sys.stderr, flush=True)

    def _commits(self, plan: PhysicalPlan, journal: CommitJournal) -> SinkCommits:
        return SinkCommits(
            plan,
            journal,
            self._hand_over,
            may_lose=self._may_lose,
            may_repeat=self._may_repeat,
        )

    def begin_anew(self, plan: PhysicalPlan, journal: CommitJournal) -> None:
        """The job goes on in another run, whose checkpoints and output are numbered anew."""
        self.commits.close()
        self.commits = self._commits(plan, journal)

    def show(self, items: Iterable[DriverItem]) -> None:
        """Take in what need not wait for a checkpoint."""
        for uid, output in self._taken(items).items():
            self.gave_records = self.gave_records or uid in self._collectors
            self._hand_over[uid](output)

    def handle(self, number: int, items: Iterable[DriverItem]) -> None:
        """Take in the items of a checkpoint, all of them or none."""
        committables = self._taken(items)
        self.commits.note(number, committables)
        self.batches += 1

    def _taken(self, items: Iterable[DriverItem]) -> Committables:
        """The output among items; what they say otherwise is noted."""
        committables: Committables = {}
        for vertex, subtask, kind, payload in items:
            if kind in _OUTPUT:
                committables.setdefault(self._plan.vertices[vertex].uid, []).extend(payload)
            elif kind == COUNTS:
                known = self._counts.setdefault((vertex, subtask), Counts())
                known.by_incarnation[payload["incarnation"]] = payload
                known.watermark = payload["watermark"]
                known.note_load(payload.get(LOAD))
            elif kind == PROGRESS:
                self.board.take_in(vertex, payload)
            elif kind == REACH:
                self.reach[vertex, subtask] = payload
            elif kind == WRITTEN:
                self._written.append(payload)
        return committables

    def take_written(self) -> list[Any]:
        """What slots said of the state they wrote, since it was last asked for."""
        written, self._written = self._written, []
        return written

    def watermarks(self) -> list[OperatorTime]:
        """How far event time has come for each operator, and what holds it back."""
        least: dict[int, int] = {}
        for (vertex, _), counts in self._counts.items():
            least[vertex] = min(counts.watermark, least.get(vertex, counts.watermark))
        return self.board.report(dict(sorted(least.items())))

    def loads(self) -> dict[str, OperatorLoad]:
        """How busy operators are, by uid; empty where nobody counts."""
        spent: dict[int, list[Spent]] = {}
        for (vertex, _), counts in self._counts.items():
            if counts.loads is not None:
                before, now = counts.loads
                spent.setdefault(vertex, []).append(now.since(before))
        return {
            self._plan.vertices[vertex].uid: load_of(self._plan.vertices[vertex].name, each)
            for vertex, each in sorted(spent.items())
        }

    def records_in(self, vertex: int) -> int:
        return self._total(vertex, "records_in")

    def records_out(self, vertex: int) -> int:
        return self._total(vertex, "records_out")

    def _total(self, vertex: int, name: str) -> int:
        return sum(c.total(name) for (id, _), c in self._counts.items() if id == vertex)

    def _all(self) -> list[tuple[int, Mapping[str, Any]]]:
        return [(vertex, counts) for (vertex, _), known in self._counts.items()
                for counts in known.by_incarnation.values()]  # fmt: skip

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Metrics by operator name, added up over subtasks; where several operators have the same
        name, with their uids."""
        by_vertex: dict[int, list[Mapping[str, Any]]] = {}
        for vertex, counts in self._all():
            if counts["metrics"]:
                by_vertex.setdefault(vertex, []).append(counts["metrics"])
        names = Counter(self._plan.vertices[vertex].name for vertex in by_vertex)
        return {_label(self._plan.vertices[vertex], names): merge_snapshots(snapshots)
                for vertex, snapshots in by_vertex.items()}  # fmt: skip

    def accumulators(self) -> dict[str, Any]:
        """Accumulator results by name, merged over operators and subtasks."""
        merged: dict[str, Any] = {}
        for _, counts in self._all():
            for name, accumulator in counts["accumulators"].items():
                if name in merged:
                    merged[name].merge(accumulator)
                else:
                    merged[name] = deepcopy(accumulator)
        return {name: accumulator.get_local_value() for name, accumulator in merged.items()}


def _label(vertex: Vertex, names: Counter[str]) -> str:
    return vertex.name if names[vertex.name] == 1 else f"{vertex.name} ({vertex.uid})"


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
