"""The fraud detector that newcomers see first, from its start to its end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import psutil

from headrace.errors import SourceUnavailable
from headrace.testing.servers.jars import fetch_jars
from headrace.testing.servers.kafka import VERSION
from tests.servers.missing import skip_without_server
from tests.spark.conftest import wait_until


def test_the_demo_shows_alerts_and_ends_quietly() -> None:
    command = [sys.executable, "-m", "headrace", "demo", "--seconds", "8", "--rate", "2000"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
        env={**os.environ, "HEADRACE_STREAM_MODE": "auto"},
    )
    assert done.returncode == 0, done.stderr
    assert "nothing was dropped" in done.stdout
    assert "in real time" in done.stderr
    assert re.search(r"within \d+ ms", done.stdout), done.stdout[-500:]
    assert "Traceback" not in done.stdout + done.stderr


def test_on_kafka_a_killed_worker_is_not_seen_in_the_topics(tmp_path: Path) -> None:
    try:
        fetch_jars("org.apache.kafka", "kafka_2.13", VERSION)
    except SourceUnavailable as error:
        skip_without_server(error.message)
    command = [sys.executable, "-m", "headrace", "demo", "--kafka"]
    done = subprocess.run(
        [*command, "--seconds", "5", "--rate", "1000", "--kills", "1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=270,
        check=False,
        env={**os.environ, "HEADRACE_STREAM_MODE": "auto", "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "workers killed: 1; recoveries from a checkpoint: " in done.stdout
    assert "lost: 0; doubled: 0" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not list(tmp_path.glob("headrace-demo-*"))
    # Spark's JVM ends by itself when the program is gone.
    wait_until(lambda: not any(str(tmp_path) in _command(each) for each in psutil.process_iter()))


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it has just ended
        return ""
