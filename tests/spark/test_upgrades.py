"""A job goes on from a savepoint as another version of itself, or says why it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Types
from headrace.core.job_status import JobStatus
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.state import MapStateDescriptor
from headrace.errors import IncompatibleState
from headrace.jobs.client import JobClient
from headrace.testing import JobHarness
from tests.spark.conftest import visible
from tests.spark.savepoint_jobs import settings
from tests.spark.stopped_jobs import wait_for_checkpoints
from tests.spark.upgrade_jobs import LISTS, Schemas, Version, build, build_schemas, write

Build = Callable[[StreamExecutionEnvironment], dict[str, DataStream]]
IGNORE = {"execution_state__recovery_ignore__unclaimed__state": "true"}


class Upgrades:
    """Runs versions of a job, each from the savepoint of the one before."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.savepoint = ""
        self.runs = 0

    def start(self, build: Build, parallelism: int, **more: str) -> JobClient:
        self.runs += 1
        if self.savepoint:
            more = {"execution_state__recovery_path": self.savepoint, **more}
        configuration = settings(self.folder / f"checkpoints-{self.runs}", **more)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(parallelism)
        env.enable_checkpointing(20)
        write(build(env), self.folder / "out")
        return env.execute_async("upgraded")

    def run(self, build: Build, parallelism: int, lists: int | None, **more: str) -> None:
        """Run until so many lists more are through, and save; without a number, to the end."""
        client = self.start(build, parallelism, **more)
        try:
            if lists is None:
                client.get_job_execution_result().result(120)
            else:
                wait_for_checkpoints(client, lists)
                saved = client.stop_with_savepoint(False, str(self.folder / "savepoints"))
                self.savepoint = saved.result(120)
        finally:
            client.cancel().result(60)

    def lines(self, name: str) -> list[str]:
        return [line for file in visible(self.folder / "out" / name)
                for line in file.read_text(encoding="utf-8").splitlines()]  # fmt: skip


def undisturbed() -> Counter[str]:
    """What the job gives when nobody stops it, but for processing time."""
    env = StreamExecutionEnvironment.get_execution_environment()
    return Counter(JobHarness().run(build(env, Version(), None)["always"]).values)


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Upgrades:
    """Version 1 for three lists, version 2 for two more, and version 3 for the rest."""
    upgrades = Upgrades(tmp_path_factory.mktemp("upgrades"))
    upgrades.run(lambda env: build(env, Version(), 5), 2, 5)
    second = Version(renamed=True, second_source=True, max_parallelism=64)
    upgrades.run(lambda env: build(env, second, 7), 3, 7)
    third = Version(renamed=True, removable=False, max_parallelism=200)
    with pytest.raises(IncompatibleState) as refused:
        upgrades.start(lambda env: build(env, third, None), 5)
    assert "(uid removable)" in str(refused.value)
    assert "(uid more)" in str(refused.value)
    assert "ignore-unclaimed-state" in str(refused.value)
    upgrades.run(lambda env: build(env, third, None), 5, None, **IGNORE)
    return upgrades


def test_what_stays_gives_what_it_would_have_given(upgraded: Upgrades) -> None:
    """Renamed, reordered, behind another exchange, at other (max) parallelisms: windows of all
    kinds, timers, counts, and what is late."""
    found = Counter(upgraded.lines("always"))
    by_clock = {line: n for line, n in found.items() if "PROCESSING_TIME" in line}
    assert found - Counter(by_clock) == undisturbed()
    assert by_clock.keys() <= {f"{key}: PROCESSING_TIME " for key in "abcdef"}
    assert set(by_clock.values()) == {1}
    assert len(by_clock) >= 3  # those of the first lists were due long before the end


def test_an_added_operator_starts_empty(upgraded: Upgrades) -> None:
    added = [line for line in upgraded.lines("some") if line.startswith("added a ")]
    numbers = [number for records in LISTS[3:] for key, number, _ in records if key == "a"]
    totals = [sum(numbers[: n + 1]) for n in range(len(numbers))]
    assert Counter(added) == Counter(f"added a {total}" for total in totals)


def test_a_removed_operator_is_gone_and_an_added_source_begins_at_its_beginning(
    upgraded: Upgrades,
) -> None:
    removable = [line for line in upgraded.lines("some") if line.startswith("removable a ")]
    assert Counter(removable) == Counter(f"removable a {n}" for n in (1, 5, 12, 22, 35))
    more = [line for line in upgraded.lines("some") if line.startswith("more ")]
    assert Counter(more) == Counter(f"more {r}" for records in LISTS[:5] for r in records)


@pytest.fixture(scope="module")
def saved_schemas(tmp_path_factory: pytest.TempPathFactory) -> Upgrades:
    upgrades = Upgrades(tmp_path_factory.mktemp("schemas"))
    upgrades.run(lambda env: build_schemas(env, Schemas(), 3), 2, 3)
    return upgrades


def test_a_state_follows_its_schema(saved_schemas: Upgrades) -> None:
    """Fields added, removed, moved and widened; numbers widened; time to live switched on, off."""
    saved_schemas.run(lambda env: build_schemas(env, Schemas(new=True), None), 3, None)
    told = {line for line in saved_schemas.lines("always") if line.startswith("b")}
    assert told == {"b: Row(c=-2, a=2, d=None), 2, 2.0, (2, 'one', None), 'young', 'old'"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"young": Types.INT()}, ["state 'young'", "STRING cannot become INT"]),
        ({"n": Types.SHORT()}, ["state 'n'", "written as  INT", "now         SHORT"]),
        ({"m": MapStateDescriptor("m", Types.STRING(), Types.LONG())},
         ["state 'm'", "value state", "map state"]),
    ],
    ids=["another type", "narrowed", "another kind"],
)  # fmt: skip
def test_a_state_that_cannot_follow_is_refused(
    saved_schemas: Upgrades, changed: dict[str, Any], words: list[str]
) -> None:
    before = saved_schemas.lines("always")
    schemas = Schemas(**changed)
    client = saved_schemas.start(lambda env: build_schemas(env, schemas, 4), 2)
    try:
        with pytest.raises(IncompatibleState) as refused:
            client.get_job_execution_result().result(60)
        assert client.get_job_status().result() is JobStatus.FAILED
    finally:
        client.cancel().result(60)
    assert [word for word in (*words, "schemas") if word not in str(refused.value)] == []
    assert saved_schemas.lines("always") == before


def test_an_operator_without_uid_is_lost_when_the_graph_before_it_changes(
    saved_schemas: Upgrades,
) -> None:
    with pytest.raises(IncompatibleState) as refused:
        saved_schemas.start(lambda env: build_schemas(env, Schemas(), 4, inserted=True), 2)
    assert "'last of each key'" in str(refused.value)
    assert "with .uid(...)" in str(refused.value)
