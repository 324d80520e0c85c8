"""`headrace plan`: what becomes of stored state, told before a job is started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace import shim
from headrace.cli.main import app
from headrace.common import Types
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from tests.unit.state.savepoints import MadeState, make_savepoint, operator

JOB = """
import sys
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import (
    ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor)

class Function(KeyedProcessFunction):
    def open(self, ctx):
{states}
    def process_element(self, value, ctx):
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
print("the script's own words")
numbers = env.from_collection([1, 2], Types.LONG())
numbers.key_by(lambda n: n).process(Function(), Types.LONG()).uid("{uid}").print()
try:
    env.execute("planned")
except Exception:
    pass
print("never reached")
"""


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return make_savepoint(
        tmp_path / "saved",
        MadeState("function", "count", [(1, 5)], declared=Types.LONG()),
        MadeState("function", "seen", [(1, [5])], "list", declared=Types.LONG()),
        MadeState("function", TIMERS_NAME, [("event", 10, 1)], TIMERS),
        operators=[operator("function", max_parallelism=64)],
    )


@pytest.fixture
def plan(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command for a job whose function declares some states; fates by state."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])

    def run(*lines: str, uid: str = "function") -> tuple[int, dict[str, dict[str, str]]]:
        states = "\n".join(f"        {line}" for line in lines or ("pass",))
        Path("job.py").write_text(JOB.format(states=states, uid=uid))
        done = CliRunner().invoke(app, ["plan", "--json", str(saved), "job.py", "--its-own"])
        assert "never reached" not in done.output
        found = [json.loads(line) for line in done.stdout.splitlines()]
        return done.exit_code, {row["state"]: row for row in found
                                if row["operator"] == "function"}  # fmt: skip

    yield run
    shim.uninstall()


COUNT = "ctx.get_state(ValueStateDescriptor('count', Types.LONG()))"
SEEN = "ctx.get_list_state(ListStateDescriptor('seen', Types.LONG()))"


def test_an_unchanged_job(plan: Any) -> None:
    code, found = plan(COUNT, SEEN)
    assert code == 0
    assert {name: row["fate"] for name, row in found.items()} == {
        "": "survives", "count": "survives", "seen": "survives", TIMERS_NAME: "survives",
    }  # fmt: skip
    assert "max parallelism 64 -> 128" in found[""]["why"]


def test_types_and_kinds(plan: Any) -> None:
    code, found = plan(
        "ctx.get_state(ValueStateDescriptor('count', Types.DOUBLE()))",
        "ctx.get_map_state(MapStateDescriptor('seen', Types.LONG(), Types.LONG()))",
        "ctx.get_state(ValueStateDescriptor('more', Types.LONG()))",
    )
    assert code == 2
    assert "LONG -> DOUBLE" in found["count"]["why"]
    assert found["seen"]["fate"] == "incompatible"
    assert "list state and is now a map state" in found["seen"]["why"]
    assert found["more"]["fate"] == "new"


def test_narrowed_with_both_schemas(plan: Any) -> None:
    code, found = plan("ctx.get_state(ValueStateDescriptor('count', Types.INT()))", SEEN)
    assert (code, found["count"]["fate"]) == (2, "incompatible")
    assert "LONG" in found["count"]["why"]
    assert "INT" in found["count"]["why"]


def test_a_lost_operator(plan: Any) -> None:
    code, found = plan(COUNT, SEEN, uid="renamed")
    assert code == 1
    assert {row["fate"] for row in found.values()} == {"dropped"}
    assert found["count"]["why"] == "1 rows are lost"


def test_state_that_is_not_asked_for(plan: Any) -> None:
    code, found = plan(COUNT)
    assert (code, found["seen"]["fate"]) == (0, "survives")
    assert "does not ask" in found["seen"]["why"]


def test_a_function_that_cannot_be_opened(plan: Any) -> None:
    code, found = plan("raise OSError('no network')")
    assert (code, found["count"]["fate"]) == (0, "survives")
    assert "OSError: no network" in found[""]["why"]
    assert "not checked" in found["count"]["why"]


def test_a_script_without_a_job(saved: Path, plan: Any) -> None:
    Path("empty.py").write_text("x = 1")
    done = CliRunner().invoke(app, ["plan", str(saved), "empty.py"])
    assert (done.exit_code, "without executing a job" in done.output) == (2, True)
    Path("broken.py").write_text("1 / 0")
    done = CliRunner().invoke(app, ["plan", str(saved), "broken.py"])
    assert (done.exit_code, "ZeroDivisionError" in done.output) == (2, True)


def test_it_is_told_in_words(saved: Path, plan: Any) -> None:
    plan(COUNT, SEEN, uid="renamed")
    done = CliRunner().invoke(app, ["plan", str(saved), "job.py"])
    assert done.exit_code == 1
    assert "A start would be refused, since state would be lost (function)" in done.output
