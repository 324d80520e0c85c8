"""Every named step is one the code comes by, and costs nothing unless it is switched on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from headrace.core import crash_points
from headrace.core.crash_points import (
    CDC_STEPS,
    KAFKA_STEPS,
    RABBITMQ_STEPS,
    STEPS,
    TAKEOVER_STEPS,
)

_DIES = "from headrace.core.crash_points import reach; reach('journal.after', 3); print('alive')"


def test_each_step_is_reached_somewhere(repository: Path) -> None:
    reached = {
        step
        for file in (repository / "src").rglob("*.py")
        for step in re.findall(r"""\breach\(\s*["']([a-z.-]+)["']""", file.read_text("utf-8"))
    }
    assert reached == {*STEPS, *TAKEOVER_STEPS, *KAFKA_STEPS, *CDC_STEPS, *RABBITMQ_STEPS}


def test_without_the_variable_nothing_happens() -> None:
    assert crash_points.reach is crash_points._nothing


def run(crash_at: str, mark: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _DIES], text=True, capture_output=True, start_new_session=True,
        check=False,
        env={**os.environ, "HEADRACE_CRASH_AT": crash_at, "HEADRACE_CRASH_MARK": str(mark)},
    )  # fmt: skip


def test_it_happens_once(tmp_path: Path) -> None:
    for at in ("journal.after@3", "journal.before@3,journal.after@3"):
        mark = tmp_path / at.replace(",", "-")
        assert run(at, mark).returncode == -signal.SIGKILL
        assert Path(f"{mark}.journal.after@3").exists()
        again = run(at, mark)
        assert (again.returncode, again.stdout) == (0, "alive\n")


def test_other_micro_batches_go_on(tmp_path: Path) -> None:
    assert run("journal.after@2", tmp_path / "mark").stdout == "alive\n"
    assert not list(tmp_path.iterdir())
