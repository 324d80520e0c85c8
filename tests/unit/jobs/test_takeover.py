"""Drivers of one job that are alive at the same time: each record comes out once.

A driver may fall asleep before any word to a file system or to a sink, and another takes the job
over meanwhile. Here they take turns at such words, and a random choice says whose turn it is, who
dies, and who comes. At the end one more goes on, undisturbed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.crash_points import TAKEOVER_STEPS
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.datastream import StreamExecutionEnvironment
from headrace.jobs import commits
from headrace.jobs.commits import SinkCommits
from headrace.jobs.journal import CommitJournal
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.flow import master
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.coordinator import CheckpointSettings, Complete
from headrace.runtime.flow.master import Beginning, Ledger, Superseded, Surroundings
from headrace.runtime.flow.messages import TaskId, TaskPart
from headrace.spark.file_store import FileStore, NewFile
from headrace.spark.flow import checkpoint_files
from headrace.spark.flow.checkpoint_files import (
    CheckpointFiles,
    Claims,
    begin_attempt,
    next_number,
)

STEPS = 4
"""Checkpoints of a driver that nobody disturbs."""


class Died(BaseException):
    """The process is gone."""


_OWN = threading.local()


def come_by(step: str, number: int) -> None:
    """In place of a crash point."""
    _OWN.turns.steps.append(step)
    _OWN.turns.wait()


class Turns:
    """Lets one driver at a time go on, up to its next word to somebody else."""

    def __init__(self) -> None:
        self._may_go = threading.Semaphore(0)
        self._has_stopped = threading.Semaphore(0)
        self._dies = False
        self.over = False
        self.steps: list[str] = []
        """The named steps that it came by."""

    def start(self, run: Callable[[], None]) -> None:
        def work() -> None:
            _OWN.turns = self
            try:
                self.wait()
                run()
            except (Died, Superseded):
                pass
            except BaseException as error:
                self.error = error
            self.over = True
            self._has_stopped.release()

        self.error: BaseException | None = None
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()
        self._has_stopped.acquire()

    def wait(self, word: str = "") -> None:
        """Called by the driver before each word."""
        self.word = word
        self._has_stopped.release()
        self._may_go.acquire()
        if self._dies:
            raise Died

    def go(self) -> None:
        if not self.over:
            self._may_go.release()
            self._has_stopped.acquire()
        if self.error is not None:
            raise self.error

    def die(self) -> None:
        self._dies = True
        self.go()


@dataclass
class Disk:
    """What all drivers have in common."""

    files: dict[str, bytes] = field(default_factory=dict)
    out: dict[str, int] = field(default_factory=dict)
    """Committed records, by the name of what was prepared: to commit that again changes nothing."""
    aborted: set[str] = field(default_factory=set)
    drivers: int = 0


class Store(FileStore):
    """A folder, as one driver sees it; a file that is replaced is gone for a moment."""

    def __init__(self, disk: Disk, wait: Callable[..., None], folder: str = ""):
        self._disk, self._wait, self._folder = disk, wait, folder
        self.uri = f"memory:{folder}"

    def child(self, name: str) -> Store:
        return Store(self._disk, self._wait, f"{self._folder}{name}/")

    def read(self, name: str) -> bytes:
        self._wait()
        try:
            return self._disk.files[self._folder + name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def read_part(self, name: str, start: int, size: int) -> bytes:
        raise NotImplementedError

    def begin(self, name: str) -> NewFile:
        raise NotImplementedError

    def write(self, name: str, content: bytes) -> None:
        self._wait(self._folder + name)
        if self._disk.files.pop(self._folder + name, None) is not None:
            self._wait()
        self._disk.files[self._folder + name] = content

    def exists(self, name: str = "") -> bool:
        raise NotImplementedError

    def names(self, folder: str = "") -> list[str]:
        self._wait()
        start = f"{self._folder}{folder}/" if folder else self._folder
        found = {name[len(start) :].partition("/")[0] for name in self._disk.files
                 if name.startswith(start)}  # fmt: skip
        return sorted(found)

    def sizes(self, folder: str) -> dict[str, int]:
        raise NotImplementedError

    def delete(self, name: str = "") -> None:
        self._wait()
        self._disk.files.pop(self._folder + name, None)


class Out(Sink[Any]):
    committer: Committer[Any] | None = None

    def create_writer(self, task: Any) -> SinkWriter[Any]:
        raise NotImplementedError

    def create_committer(self) -> Committer[Any] | None:
        return self.committer


class _Committer(Committer[tuple[str, int]]):
    def __init__(self, disk: Disk, wait: Callable[..., None]):
        self._disk, self._wait = disk, wait

    def commit(self, committables: list[tuple[str, int]]) -> None:
        for name, record in committables:
            self._wait()
            assert name not in self._disk.aborted, f"{name} is lost"
            self._disk.out[name] = record

    def abort(self, committables: list[tuple[str, int]]) -> None:
        for name, _ in committables:
            self._wait()
            assert name not in self._disk.out, f"{name} was committed"
            self._disk.aborted.add(name)


class _Ledger(Ledger):
    """Of a job with one task, whose source stands at the next number."""

    position = 0

    def _positions(self, complete: Complete) -> dict[str, dict[str, Any]]:
        return {"source": {"all": [None, self.position]}}

    def _tell_sources(self, positions: dict[str, dict[str, Any]]) -> None:
        """Nobody wants to know."""


@cache
def planned(sink: Out) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(sink).uid("sink")
    return plan(env.builder.take("job", **env._graph_settings()))


SINK = Out()


class Driver:
    """The parts of a driver that speak to others, in the order in which a job uses them."""

    def __init__(self, disk: Disk, turns: Turns):
        disk.drivers += 1
        self._name = f"driver {disk.drivers}"
        self._plan = planned(SINK)
        self._run = Store(disk, turns.wait)
        self._claims = Claims(self._run)
        SINK.committer = _Committer(disk, turns.wait)
        self._commits = SinkCommits(self._plan, CommitJournal(self._run.child("journal")))

    def work(self, restarts: int = 1) -> None:
        """Attempts that end in the middle, and one that ends well."""
        for left in range(restarts, -1, -1):
            self._attempt(STEPS // 2 if left else STEPS)

    def _attempt(self, steps: int) -> None:
        number, last = begin_attempt(self._run, self._claims)
        try:
            self._commits.recover(
                None if last is None else last.id, number, is_current=self._claims.is_last
            )
        except Exception:
            if not self._claims.is_last():
                raise Superseded from None
            raise
        files = CheckpointFiles(self._run, number, 1, self._claims.is_last)
        begins = Beginning(self._plan, number, last, None, next_number(self._run))
        listener: Any = SimpleNamespace(
            begun=None,
            failed=None,
            told=None,
            arrived=self._note,
            committed=self._commits.commit_upto,
        )
        around = Surroundings(files, listener, lambda task, message: None)
        ledger = _Ledger(begins, around, CheckpointSettings())
        ledger.position = _position(last)
        for checkpoint in range(begins.next_number, begins.next_number + steps):
            prepared = (f"{self._name} attempt {number}: {ledger.position}", ledger.position)
            ledger.position += 1
            part = TaskPart(items=((0, 0, "commit", [prepared]),))
            ledger._complete(Complete(checkpoint, {TaskId(0, 0): part}, {}))

    def _note(self, number: int, items: list[Any]) -> None:
        self._commits.note(number, {"sink": [one for *_, given in items for one in given]})


def _position(last: Checkpoint | None) -> int:
    return 0 if last is None else int(last.positions["source"]["all"][1])


class Scene:
    """Drivers of one job, each in its own time."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.drivers: list[Turns] = []

    def come(self) -> Turns:
        turns = Turns()
        driver = Driver(self.disk, turns)
        turns.start(driver.work)
        self.drivers.append(turns)
        return turns

    def finish(self, turns: Turns) -> None:
        while not turns.over:
            turns.go()

    def check(self) -> None:
        """One more goes on; then all who are asleep wake up, and another one must find all well."""
        self.finish(self.come())
        for turns in self.drivers:
            self.finish(turns)
        self.finish(self.come())
        counts = Counter(self.disk.out.values())
        assert counts == Counter(range(len(counts))), self.disk.out
        assert len(counts) >= 2 * STEPS
        left = self.disk.files.keys()
        assert not [name for name in left if name.startswith("journal/batch-")], left


WORDS = st.lists(
    st.one_of(
        st.tuples(st.just("go"), st.integers(0, 2), st.integers(1, 40)),
        st.tuples(st.sampled_from(("come", "die")), st.integers(0, 2), st.just(1)),
    ),
    max_size=40,
)


@pytest.fixture(autouse=True, scope="module")
def named_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (checkpoint_files, commits, master):
            patch.setattr(module, "reach", come_by)
        yield


OF_DRIVERS = (
    *TAKEOVER_STEPS,
    *("journal.before", "journal.after", "metadata.before", "metadata.after"),
    *("sink-commit.before", "sink-commit.after"),
)


@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("step", OF_DRIVERS)
def test_one_falls_asleep_at_a_step_and_another_goes_on(step: str, nth: int) -> None:
    """At one of the elder's steps the younger comes, at one of the younger's the elder goes on."""
    scene = Scene()
    elder = scene.come()
    while elder.steps.count(step) < nth:
        elder.go()
    younger = scene.come()
    while not younger.over and younger.steps.count(step) < nth:
        younger.go()
    scene.finish(elder)
    scene.check()


@pytest.mark.parametrize("step", TAKEOVER_STEPS)
@pytest.mark.parametrize("had", ["metadata.before", "metadata.after", "sink-commit.after"])
def test_one_goes_on_while_another_takes_over(step: str, had: str) -> None:
    scene = Scene()
    elder = scene.come()
    while had not in elder.steps:
        elder.go()
    younger = scene.come()
    while step not in younger.steps:
        younger.go()
    scene.finish(elder)
    scene.check()


def test_of_two_that_take_over_one_decides() -> None:
    """The elder completes a checkpoint between their looks, of which the first does not know."""
    scene = Scene()
    elder = scene.come()
    while "metadata.before" not in elder.steps:
        elder.go()
    first = scene.come()
    while first.word != "attempts/2":
        first.go()
    scene.finish(elder)
    second = scene.come()
    while "attempt.recovers" not in second.steps:
        second.go()
    scene.finish(first)
    scene.check()


@settings(max_examples=150, deadline=None)
@given(words=WORDS)
def test_each_record_comes_out_once_whoever_is_alive(words: list[tuple[str, int, int]]) -> None:
    scene = Scene()
    scene.come()
    for what, who, times in words:
        alive = [turns for turns in scene.drivers if not turns.over]
        if what == "come" or not alive:
            if len(alive) < 3:
                scene.come()
        elif what == "die":
            alive[who % len(alive)].die()
        else:
            for _ in range(times):
                alive[who % len(alive)].go()
    scene.check()
