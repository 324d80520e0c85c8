"""`headrace state` and `headrace savepoint` on savepoints of this machine: no Spark is started."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.common import Row, Types
from headrace.core.windows import TimeWindow
from headrace.runtime.state_rows import WINDOW
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from tests.unit.state.savepoints import MadeState, make_savepoint


class Thing:
    """Has no column of its own, so it is pickled."""

    def __init__(self, size: int):
        self.size = size

    def __reduce__(self) -> Any:
        return _explode, ()

    def __repr__(self) -> str:
        return f"Thing({self.size})"


def _explode() -> None:
    raise AssertionError("a savepoint must not be unpickled to be looked at")


def states(count: int = 2) -> list[MadeState]:
    return [
        MadeState("counter", "count", [("ann", count), ("bob", 2)], declared=Types.LONG()),
        MadeState("counter", "last pair", [("ann", ("x", 1.5))]),
        MadeState("counter", TIMERS_NAME, [("event", 1000, "ann")], TIMERS),
        MadeState("things", "thing", [(1, Thing(5))]),
        MadeState("things", "profile", [(1, Row(name="n", age=3))]),
        MadeState("windows", "sum", [(("ann", TimeWindow(0, 10)), 4)], scope=WINDOW),
    ]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return make_savepoint(tmp_path / "saved", *states())


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local savepoints are read without it."""

    def fail() -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("headrace.cli.savepoints.get_session", fail)


def headrace(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_ls(saved: Path) -> None:
    done = headrace("state", "ls", saved)
    assert done.exit_code == 0
    assert "job 'made', checkpoint 7, parallelism 2" in done.output
    begins = [line.split()[:8] for line in done.output.splitlines()]
    assert ["counter", "count", "value", "keyed", "STRING", "->", "LONG", "2"] in begins
    lines = headrace("state", "ls", saved, "-f", "json").output.splitlines()
    rows = [json.loads(line) for line in lines]
    assert {row["table"] for row in rows} == {
        "counter_count", "counter_last_pair", "counter_timers", "things_thing", "things_profile",
        "windows_sum",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("what", "row"),
    [
        ("counter/count", {"key": "ann", "value": 2}),
        ("counter/last pair", {"key": "ann", "value": ["x", 1.5]}),
        ("counter/timers", {"key": "ann", "domain": "event", "time": 1000}),
        ("things/thing", {"key": 1, "value": "Thing(5)"}),
        ("things/profile", {"key": 1, "value": {"name": "n", "age": 3}}),
        ("windows/sum", {"key": "ann", "window_start": 0, "window_end": 10, "value": 4}),
    ],
)
def test_show(saved: Path, what: str, row: dict[str, Any]) -> None:
    """Every kind of state is readable, pickled values by their text."""
    done = headrace("state", "show", saved, what, "--format", "json", "--limit", 1)
    found = json.loads(done.output)
    assert {name: found[name] for name in row} == row


def test_show_by_key_and_limit(saved: Path) -> None:
    done = headrace("state", "show", saved, "counter/count", "--key", "bob", "-f", "csv")
    assert list(csv.reader(done.output.splitlines())) == [["key", "value"], ["bob", "2"]]
    assert "nothing for key eve" in headrace(
        "state", "show", saved, "counter/count", "--key", "eve"
    ).output  # fmt: skip
    assert "1 more" in headrace("state", "show", saved, "counter/count", "--limit", 1).output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "saved", "conter"], "Did you mean 'counter'?"),
        (["show", "saved", "counter/total"], "It has: '_timers', 'count', 'last pair'."),
        (["ls", "absent"], "there is no savepoint in"),
    ],
)
def test_mistakes(saved: Path, words: list[str], message: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(saved.parent)
    done = headrace("state", *words)
    assert (done.exit_code, message in done.output) == (2, True), done.output


def test_damage(saved: Path) -> None:
    """A flipped bit and a missing file are told, not shown as state."""
    file = next((saved / "state/counter/count").glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[20] ^= 4
    file.write_bytes(content)
    done = headrace("state", "show", saved, "counter/count")
    assert (done.exit_code, "is not what was written" in done.output) == (2, True)
    file.unlink()
    assert "is missing" in headrace("state", "ls", saved).output


def test_diff(saved: Path, tmp_path: Path) -> None:
    same = make_savepoint(tmp_path / "same", *states())
    done = headrace("state", "diff", saved, same)
    assert (done.exit_code, done.output) == (0, "no difference: 6 states, 7 rows\n")
    changed = states(count=9)[:-1]
    changed[0].items.append(("eve", 1))
    changed[2].items.clear()
    other = make_savepoint(tmp_path / "other", *changed)
    done = headrace("state", "diff", saved, other)
    assert done.exit_code == 1
    assert "changed key ann: 2 -> 9" in done.output
    assert "added key eve: 1" in done.output
    assert "removed key ann, domain event, time 1000" in done.output
    assert "removed key ann, window_start 0, window_end 10: 4" in done.output
    lines = headrace("state", "diff", saved, other, "--json").output.splitlines()
    found = [json.loads(line) for line in lines]
    counts = {each["name"]: (each["added"], each["removed"], each["changed"]) for each in found}
    assert counts == {"count": (1, 0, 1), TIMERS_NAME: (0, 1, 0), "sum": (0, 1, 0)}


def test_dispose(saved: Path, tmp_path: Path) -> None:
    """It asks, and deletes nothing but savepoints."""
    (tmp_path / "kept").mkdir()
    assert headrace("savepoint", "dispose", tmp_path / "kept", "--yes").exit_code == 2
    assert (tmp_path / "kept").exists()
    asked = CliRunner().invoke(app, ["savepoint", "dispose", str(saved)], input="n\n")
    assert (asked.exit_code, saved.exists()) == (1, True)
    (saved / "notes.txt").write_text("mine")
    assert "notes.txt" in headrace("savepoint", "dispose", saved, "--yes").output
    (saved / "notes.txt").unlink()
    assert headrace("savepoint", "dispose", saved, "-y").exit_code == 0
    assert not saved.exists()


def test_take_refuses_a_savepoint(saved: Path, tmp_path: Path) -> None:
    done = headrace("savepoint", "take", saved, tmp_path / "new")
    assert (done.exit_code, "is a savepoint already" in done.output) == (2, True)
