"""The fraud detector that newcomers see first, from its start to its end."""

from __future__ import annotations

import os
import re
import subprocess
import sys


def test_the_demo_shows_alerts_and_ends_quietly() -> None:
    command = [sys.executable, "-m", "headrace", "demo", "--seconds", "8", "--rate", "2000"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env={**os.environ, "HEADRACE_STREAM_MODE": "auto"},
    )
    assert done.returncode == 0, done.stderr
    assert "nothing was dropped" in done.stdout
    assert "in real time" in done.stderr
    assert re.search(r"within \d+ ms", done.stdout), done.stdout[-500:]
    assert "Traceback" not in done.stdout + done.stderr
