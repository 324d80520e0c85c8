"""Tasks go to the worker that has their slot, whatever worker Spark gives them to."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import pytest

from tests.conftest import ROOT

Ask = Callable[[str], str]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Says something to a daemon of its own, with two workers that keep slots 0 and 1."""
    with tempfile.TemporaryDirectory(prefix="hr-") as folder:  # a socket's path must be short
        daemon = subprocess.Popen(
            [sys.executable, "-m", "tests.unit.spark.routed_workers", folder], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

        def say(command: str) -> str:
            assert daemon.stdin is not None
            assert daemon.stdout is not None
            print(command, file=daemon.stdin, flush=True)
            return daemon.stdout.readline().strip()

        with daemon:  # the workers' connections close with it
            for number in range(2):
                assert say("fork") == str(number)
                say(f"send {number} {number}")
                assert say(f"answer {number}") == str(number)
                assert say(f"until_at_rest {number}") == "True"
            yield say
        assert daemon.returncode == 0


def test_a_task_is_done_by_who_has_its_slot(ask: Ask) -> None:
    for _ in range(3):
        ask("send 0 1")
        assert ask("answer 0") == "1"
        ask("send 1 1")
        assert ask("answer 1") == "1"


def test_two_that_have_each_other_s_slots_work_at_the_same_time(ask: Ask) -> None:
    for _ in range(3):
        ask("send 0 1 0.3")
        ask("send 1 0 0.3")
        assert ask("answer 0") == "1"
        assert ask("answer 1") == "0"


def test_a_worker_that_is_busy_with_another_task_is_not_waited_for(ask: Ask) -> None:
    ask("send 0 1 inf")
    assert ask("until_at_work 1") == "True"
    ask("send 1 1 0")
    assert ask("answer 1") == "0"
    ask("let_go 1")
    assert ask("answer 0") == "1"
    ask("send 0 1")
    assert ask("answer 0") == "1", "who was the last to keep it has it"


def test_a_slot_nobody_has_stays_where_spark_put_it(ask: Ask) -> None:
    ask("send 1 7")
    assert ask("answer 1") == "1"
    ask("send 0 7")
    assert ask("answer 0") == "1"


def test_a_worker_is_ended_with_the_one_whose_task_it_does(ask: Ask) -> None:
    ask("send 0 1 inf")
    assert ask("until_at_work 1") == "True"
    ask("kill 0")
    assert ask("is_alive 1") == "False"


def test_spark_hears_of_a_worker_that_dies_of_another_s_task(ask: Ask) -> None:
    ask("send 0 1 -1")
    assert ask("answer 0") == "gone"
    assert ask("is_alive 0") == "False"


def test_spark_hears_of_a_worker_that_dies_before_it_takes_a_task_over(ask: Ask) -> None:
    ask("stop 1")
    ask("send 0 1")
    assert ask("until_asked 1") == "True"
    ask("kill 1")
    # Or the worker was not yet asked, and this one does the task itself.
    assert ask("answer 0") in ("gone", "0")


def test_a_keeper_that_is_gone_is_not_asked_again(ask: Ask) -> None:
    ask("kill 1")
    ask("send 0 1")
    assert ask("answer 0") == "0"


def test_a_task_that_fails_takes_its_connection_with_it(ask: Ask) -> None:
    ask("send 0 -1")
    assert ask("is_alive 0") == "False"
    ask("send 1 0")
    assert ask("answer 1") == "1"


def test_a_worker_leaves_when_spark_hangs_up(ask: Ask) -> None:
    ask("hang_up 0")
    assert ask("is_alive 0") == "False"
