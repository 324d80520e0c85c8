"""Words to the slots, and their end."""

from __future__ import annotations

import time
from pathlib import Path

from headrace.spark.control import Control
from headrace.spark.file_store import LocalStore


def words(folder: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in folder.glob("[!.]*"))


def test_words_are_files(tmp_path: Path) -> None:
    control = Control(LocalStore(tmp_path))
    control.tick()
    control.announce_end()
    assert words(tmp_path) == ["end", "tick"]


def test_old_ticks_are_cleared_away(tmp_path: Path) -> None:
    control = Control(LocalStore(tmp_path))
    for _ in range(30):
        control.tick()
    assert words(tmp_path) == ["tick"] * 20


def test_an_alarm_ticks_when_it_is_due(tmp_path: Path) -> None:
    control = Control(LocalStore(tmp_path))
    control.wake_at(int(time.time() * 1000) + 50)
    deadline = time.monotonic() + 10
    while not words(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert words(tmp_path) == ["tick"]


def test_nothing_brings_a_deleted_folder_back(tmp_path: Path) -> None:
    control = Control(LocalStore(tmp_path / "control"))
    control.tick()
    control.wake_at(int(time.time() * 1000) + 100)
    control.close()
    LocalStore(tmp_path / "control").delete()
    control.wake_at(0)
    control.tick()
    control.announce_end()
    time.sleep(0.2)
    assert not (tmp_path / "control").exists()
