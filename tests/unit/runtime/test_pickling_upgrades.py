"""State of an older script never changes the classes of the program that reads it."""

from __future__ import annotations

import subprocess
import sys

import pytest

OLD = """
import enum, sys
from dataclasses import dataclass
from pathlib import Path
from headrace.runtime.pickling import dumps_for_workers

@dataclass
class Total:
    count: int
    gone: str = "x"

    def shown(self):
        return f"old {self.count}"

class Color(enum.Enum):
    RED = 1

class Plan:
    def state(self):
        return Total(1), Color.RED

Path(sys.argv[1]).write_bytes(dumps_for_workers(Plan()))
"""

NEW = """
import enum, sys
from dataclasses import dataclass, field
from pathlib import Path
from headrace.runtime.pickling import dumps_for_workers

@dataclass
class Total:
    count: int
    tags: list = field(default_factory=list)

    def shown(self):
        return f"new {self.count} {self.tags}"

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Plan:
    def state(self):
        return Total(2), Color.RED

Path(sys.argv[1]).write_bytes(dumps_for_workers(Plan()))
"""

WRITE = """
import pickle
from pathlib import Path
from headrace.runtime.pickling import dumps
Path("state").write_bytes(dumps(pickle.loads(Path("old").read_bytes()).state()))
"""

READ = """
import pickle
from pathlib import Path
from headrace.core.evolution import evolve_object
plan = pickle.loads(Path("new").read_bytes())
total, color = evolve_object(pickle.loads(Path("state").read_bytes()))
fresh, red = plan.state()
print(total.shown(), fresh.shown(), type(total) is type(fresh), vars(total), color is red)
"""

ALONE = """
import pickle
from pathlib import Path
total, color = pickle.loads(Path("state").read_bytes())
print(total.shown(), vars(total), color)
"""


@pytest.fixture
def run(tmp_path):
    def in_process_of_its_own(code, *arguments):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    run = in_process_of_its_own
    run(OLD, "old")
    run(WRITE)
    return run


def test_the_programs_class_keeps_its_methods_and_fields(run):
    run(NEW, "new")
    assert run(READ) == "new 1 [] new 2 [] True {'count': 1, 'tags': []} True"


def test_without_the_program_state_brings_its_own_classes(run):
    assert run(ALONE) == "old 1 {'count': 1, 'gone': 'x'} Color.RED"


def test_a_script_reads_state_as_its_own_classes(run):
    """As a script does that opens a savepoint of its job."""
    read = """
total, color = pickle.loads(Path("state").read_bytes())
print(type(total) is Total, color is Color.RED, total.shown.__func__ is Total.shown)
"""
    assert run("import pickle\n" + NEW + read, "new") == "True True True"
    assert run("import pickle\n" + NEW.replace("Path(sys", "#") + read) == "True True True"


def test_a_copy_of_the_plan_leaves_the_scripts_classes_alone(run):
    """Tasks in the driver's own process have copies of functions, not other classes."""
    copy = """
import pickle
method = Total.shown
plan = pickle.loads(dumps_for_workers(Plan()))
print(Total.shown is method, type(plan.state()[0]) is Total)
"""
    assert run(NEW + copy, "new") == "True True"


WRITE_MANY = """
import pickle
from pathlib import Path
from headrace.runtime.pickling import ValuePickling
pickling, plan = ValuePickling(), pickle.loads(Path("old").read_bytes())
pickled = [pickling.dumps(plan.state()) for _ in range(3)]
assert len(pickled[0]) < 300
Path("state").write_bytes(pickled[0])
Path("classes").write_bytes(pickling.definitions())
"""


def test_values_only_name_their_classes(run):
    run(WRITE_MANY)
    run(NEW, "new")
    assert run(READ) == "new 1 [] new 2 [] True {'count': 1, 'tags': []} True"


def test_classes_kept_apart_serve_those_without_the_program(run):
    run(WRITE_MANY)
    classes = 'import pickle; pickle.loads(open("classes", "rb").read())\n'
    assert run(classes + ALONE) == "old 1 {'count': 1, 'gone': 'x'} Color.RED"
    run(NEW, "new")
    assert run(classes + READ).startswith("new 1 [] new 2 [] True")
    assert run(READ.replace("total, color", classes + "total, color")).startswith("new 1 [] new 2")


def test_a_class_that_is_gone_is_named(run):
    run(WRITE_MANY)
    error = "except Exception as gone: print(gone)"
    code = f'import pickle\ntry: pickle.loads(open("state", "rb").read())\n{error}'
    assert "[incompatible-state] the state holds objects of the script's class 'Total'" in run(code)
