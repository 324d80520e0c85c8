"""Run PyFlink scripts on PyFlink and on headrace and compare what they print.

    python scripts/compare_examples.py PEER_PYTHON HEADRACE [EXAMPLE ...]

The scripts are DataStream examples of the PyFlink installed beside PEER_PYTHON, and those of
`examples/pyflink/`, called `own/…`. Lines are compared as a multiset, without the number of the
subtask that printed them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from headrace.java import ensure_java

EXAMPLES = (
    "basic_operations",
    "event_time_timer",
    "process_json_data",
    "state_access",
    "windowing/session_with_dynamic_gap_window",
    "windowing/session_with_gap_window",
    "windowing/sliding_time_window",
    "windowing/tumbling_count_window",
    "windowing/tumbling_time_window",
    "word_count",
)
OWN = Path(__file__).resolve().parents[1] / "examples" / "pyflink"
_QUIETLY = """
import logging, runpy, sys
logging.disable(logging.WARNING)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""The examples log to where they print, and PyFlink's libraries have much to say there."""
_SUBTASK = re.compile(r"^\d+> ")
_TIMEOUT = 300


def printed(*command: str) -> Counter[str]:
    """The lines a command prints, each with its number of occurrences."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
    return Counter(_SUBTASK.sub("", line) for line in done.stdout.splitlines())


def differences(theirs: Counter[str], ours: Counter[str]) -> list[str]:
    """One line for each printed line that only one of the two engines printed."""
    missing = [f"    only PyFlink:  {line}" for line in sorted((theirs - ours).elements())]
    extra = [f"    only headrace: {line}" for line in sorted((ours - theirs).elements())]
    return missing + extra


def main(peer_python: str, headrace: str, *chosen: str) -> int:
    """Compare the chosen examples, or all; the exit status says whether they agree."""
    ensure_java()  # Flink needs one as well
    where = [peer_python, "-c", "import pyflink; print(pyflink.__path__[0])"]
    home = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    # PyFlink's workers look for `python` on the PATH.
    os.environ["PATH"] = f"{Path(peer_python).absolute().parent}{os.pathsep}{os.environ['PATH']}"
    differing = 0
    own = [f"own/{script.stem}" for script in sorted(OWN.glob("*.py"))]
    for name in chosen or [*EXAMPLES, *own]:
        folder, file = home / "examples" / "datastream", f"{name}.py"
        script = str(OWN / file[4:] if name in own else folder / file)
        theirs = printed(peer_python, "-c", _QUIETLY, script)
        found = differences(theirs, printed(headrace, "run", script))
        differing += bool(found)
        print(f"{'DIFFERS' if found else 'same   '} {name} ({theirs.total()} lines)", flush=True)
        print("\n".join(found[:20]), end="\n" if found else "")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
