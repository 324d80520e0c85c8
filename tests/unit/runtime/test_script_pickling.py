"""Classes of the user's script are the same classes when the program is started again."""

from __future__ import annotations

import subprocess
import sys

STATE = """
import sys
from dataclasses import dataclass
from headrace.runtime.pickling import dumps_for_workers

@dataclass(frozen=True)
class Key:
    number: int

class Plan:
    key = Key

if __name__ == "__main__":
    sys.stdout.buffer.write(dumps_for_workers({Key(3): "kept"} if sys.argv[1] == "state" else Plan))
"""

WORKER = """
import pickle, sys
from pathlib import Path
plan = pickle.loads(Path(sys.argv[1]).read_bytes())
state = pickle.loads(Path(sys.argv[2]).read_bytes())
print(state.get(plan.key(3)))
"""


def test_state_of_an_earlier_run_has_the_programs_own_keys(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(STATE)
    for what in ("plan", "state"):  # each by a driver of its own
        done = subprocess.run([sys.executable, script, what], capture_output=True, check=True)
        (tmp_path / what).write_bytes(done.stdout)
    worker = [sys.executable, "-c", WORKER, str(tmp_path / "plan"), str(tmp_path / "state")]
    assert subprocess.run(worker, capture_output=True, text=True, check=True).stdout == "kept\n"


NOTEBOOK = """
from headrace.runtime.pickling import dumps_for_workers
import pickle

class Rule:
    limit = 1

first = dumps_for_workers(Rule)

class Rule:
    limit = 2

second = dumps_for_workers(Rule)
from pathlib import Path
Path("first").write_bytes(first)
Path("second").write_bytes(second)
"""

BOTH = """
import pickle
from pathlib import Path
print(*(pickle.loads(Path(name).read_bytes()).limit for name in ("first", "second")))
"""


def test_a_class_defined_again_is_another_class(tmp_path):
    for code, expected in ((NOTEBOOK, ""), (BOTH, "1 2\n")):
        run = [sys.executable, "-c", code]
        done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stdout == expected
