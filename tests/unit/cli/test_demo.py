"""`headrace demo --kafka`: what it refuses, what it counts, and its keys."""

from __future__ import annotations

import os
import pty
import shutil
import sys
import termios
from collections import Counter, namedtuple
from typing import Any

from typer.testing import CliRunner

from headrace.cli.demo.kafka_job import ALERTS, LATE
from headrace.cli.demo.kafka_proof import Proof, expected_results
from headrace.cli.demo.keys import pressed_key, single_keys
from headrace.cli.main import app
from tests.unit.waiting import wait_until


def refused(*words: str) -> str:
    done = CliRunner().invoke(app, ["demo", *words])
    assert done.exit_code == 2
    return done.stderr


class TestWhatItRefuses:
    def test_kills_without_kafka(self):
        assert "Add --kafka" in refused("--kills", "1")

    def test_without_the_package_it_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "confluent_kafka", None)
        assert "pip install 'headrace[kafka]'" in refused("--kafka")

    def test_without_room_for_the_broker_it_says_where(self, monkeypatch):
        usage = namedtuple("usage", "free")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1_500_000))
        said = refused("--kafka")
        assert "the broker needs 500 MB in" in said
        assert "there are 1 MB" in said
        assert "TMPDIR" in said


def payment(card: int, second: float, amount: float) -> dict[str, Any]:
    return {"card": card, "time": int(second * 1000), "amount": amount, "city": "Springfield"}


class TestTheProof:
    def test_an_alert_is_a_large_payment_right_after_a_tiny_one(self):
        first = [
            *(payment(1, 1000, 0.5), payment(1, 1002, 700.0)),
            *(payment(2, 1003, 0.5), payment(2, 1004, 20.0), payment(2, 1005, 900.0)),
            *(payment(3, 1006, 0.5), payment(3, 1007, 500.0)),
            *(payment(4, 1008, 0.5), payment(4, 1070, 600.0)),
        ]
        second = [payment(5, 1000, 0.5), payment(5, 1001, 600.0)]
        assert expected_results([first, second]) == Counter(
            {(ALERTS, 1, 1_002_000, 700.0, 2000): 1, (ALERTS, 5, 1_001_000, 600.0, 1000): 1}
        )

    def test_a_late_payment_is_kept_and_not_judged(self):
        given = [payment(1, 1000, 0.5), payment(1, 400, 20.0), payment(1, 1002, 700.0)]
        assert expected_results([given]) == Counter(
            {(LATE, 1, 400_000, 20.0, "Springfield"): 1, (ALERTS, 1, 1_002_000, 700.0, 2000): 1}
        )

    def test_what_is_lost_or_doubled_is_counted(self):
        expected = Counter({(ALERTS, 1): 1, (ALERTS, 2): 1, (LATE, 3): 1})
        good = Proof(9, expected, Counter(expected), kills=1, restarts=1)
        assert good.holds
        assert "lost: 0; doubled: 0" in good.summary()
        bad = Proof(9, expected, Counter({(ALERTS, 1): 2, (LATE, 3): 1}), kills=1, restarts=1)
        assert not bad.holds
        assert (bad.lost(ALERTS), bad.doubled(ALERTS)) == (1, 1)
        assert (bad.lost(LATE), bad.doubled(LATE)) == (0, 0)
        assert "lost: 1; doubled: 1" in bad.summary()


def test_a_key_is_there_when_it_is_pressed(monkeypatch):
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal, os.fdopen(ours, "w"):
        monkeypatch.setattr(sys, "stdin", terminal)
        before = termios.tcgetattr(terminal)
        with single_keys():
            assert pressed_key() == ""
            os.write(ours, b"K")
            seen: list[str] = []  # the kernel hands it to the other end in its own time
            wait_until(lambda: seen.append(pressed_key()) or seen[-1], "the key that was pressed")
            assert seen[-1] == "k"
        assert termios.tcgetattr(terminal) == before
