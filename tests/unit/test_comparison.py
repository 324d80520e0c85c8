"""The comparison with PyFlink itself: what it calls a difference, and what it lets pass."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.engines import Engine
from compare.__main__ import run_themes
from compare.case import final_rows
from compare.describing import describe
from compare.themes import THEMES, cases_of
from compare.verdict import (
    ENDLESS,
    MORE_TO_DO,
    RECORDED,
    Difference,
    Known,
    differences,
    outlived,
    read_known,
    read_outcomes,
    recorded_themes,
    unexpected,
)
from headrace import shim
from headrace.common import Row


@pytest.fixture
def served_as_pyflink() -> Iterator[None]:
    already = shim.is_installed()
    shim.install()
    yield
    if not already:
        shim.uninstall()


def test_each_known_difference_stands_on_the_page_of_differences(repository):
    page = (repository / "docs" / "flink-differences.head.md").read_text(encoding="utf-8")
    words = " ".join(page.split())
    missing = [known.page for known in read_known() if known.page not in words]
    assert not missing


def test_each_known_difference_has_a_reason_and_places():
    assert all(known.reason and known.places for known in read_known())


@pytest.mark.usefixtures("served_as_pyflink")
def test_all_cases_have_names_of_their_own_and_those_of_recorded_themes_are_recorded():
    for theme in THEMES:
        names = [case.name for case in cases_of(theme)]
        assert len(names) == len(set(names)), theme
        if theme in recorded_themes():
            assert set(read_outcomes(RECORDED / f"{theme}.jsonl")) == set(names), theme


@pytest.mark.parametrize("theme", recorded_themes())
def test_no_case_of_many_parts_is_refused_by_pyflink_as_a_whole_which_would_say_nothing(theme):
    for name, outcome in read_outcomes(RECORDED / f"{theme}.jsonl").items():
        refused = [part == "refused planning" for part in outcome.values()]
        alone = name.startswith(("MAP<", "ROW<"))  # nothing goes with them
        assert len(refused) <= 2 or alone or not all(refused), name


def test_what_differs_in_a_part_is_named_with_its_place():
    found = differences("t", {"c": {"x": "1", "y": ["2"]}}, {"c": {"x": "1", "y": ["3"], "z": "4"}})
    assert found == [
        Difference("t: c / y", "2", "3"),
        Difference("t: c / z", "(not there)", "4"),
    ]


def test_the_class_of_an_error_counts_where_pyflink_has_one_of_python():
    java = {"c": {"x": "raises", "refused": "planning"}}
    ours = {"c": {"x": "raises ValueError", "refused": "planning", "error": "ValueError"}}
    assert differences("t", java, ours) == []
    assert differences("t", {"c": {"x": "raises TypeError"}}, {"c": {"x": "raises"}}) != []
    assert differences("t", java, {"c": {"x": "1", "refused": "planning"}}) != []


def test_a_case_that_only_one_engine_ran_is_not_compared():
    assert differences("t", {"c": {"x": "1"}}, {}) == []


def test_a_known_difference_passes_and_one_that_is_gone_does_not():
    found = [Difference("t: c / x", "1", "2")]
    known = [Known(("t: c / *", "t: gone / x", "u: other / x"), "why", "page")]
    assert unexpected(found, known) == []
    assert outlived(found, known, {"t"}) == ["t: gone / x"]
    assert unexpected([Difference("t: d / x", "1", "2")], known) != []


def test_values_are_told_apart_by_their_types():
    texts = [describe(value) for value in (1, 1.0, True, "1", b"1", None, [1], (1,), {"a": 1})]
    assert len(set(texts)) == len(texts)
    assert describe(Row(1, "a")) != describe(Row(x=1, y="a"))
    assert describe(object()) == "object"


def test_changes_leave_what_was_not_taken_back():
    assert final_rows(["+I 1", "-U 1", "+U 2", "+I 3", "-D 3"]) == ["2"]


def test_recorded_outcomes_hold_no_path_of_a_machine():
    for file in sorted(RECORDED.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            text = json.dumps(json.loads(line), ensure_ascii=False)
            assert "/tmp/" not in text
            assert " at 0x" not in text


def test_the_precision_of_a_column_of_timestamps_is_not_compared_since_pyflink_does_not_tell_it():
    theirs = {"c": {"columns": ["t TimestampType(3, true)"], "type": "TimestampType(3, true)"}}
    ours = {"c": {"columns": ["t TimestampType(6, true)"], "type": "TimestampType(6, true)"}}
    assert [found.place for found in differences("t", theirs, ours)] == ["t: c / type"]


def test_after_a_case_without_an_end_another_process_goes_on(tmp_path):
    engine = tmp_path / "engine"
    engine.write_text(
        "#!/bin/sh\n"  # the runner, the folder, the themes: it leaves a line, and goes on twice
        'echo "$3" >> "$2/lives"\n'
        f'[ "$(wc -l < "$2/lives")" -ge 3 ] || exit {MORE_TO_DO}\n'
    )
    engine.chmod(0o755)
    run_themes(Engine(name="any", command=(str(engine),)), tmp_path, ["joins"])
    assert (tmp_path / "lives").read_text().split() == ["joins"] * 3


def test_a_case_without_an_end_ends_its_process(tmp_path):
    """And the next process leaves it out."""
    script = (
        "import signal, sys; sys.argv = ['runner.py']\n"
        "from headrace import shim; shim.install()\n"
        "from pathlib import Path\n"
        "from compare import runner\n"
        "from compare.case import Case\n"
        "def endless(session):\n"
        "    its_time = signal.setitimer(signal.ITIMER_REAL, 0.01)[0]\n"  # is over now
        "    while its_time: pass\n"
        "cases = [Case('one', lambda session: {'a': 1}), Case('two', endless),\n"
        "         Case('three', lambda session: {'b': 2})]\n"
        f"runner._run_cases(cases, Path({str(tmp_path / 'theme.jsonl')!r}), {{}})\n"
    )
    statuses = [subprocess.run([sys.executable, "-c", script], check=False).returncode
                for _ in range(2)]  # fmt: skip
    assert statuses == [MORE_TO_DO, 0]
    assert list(read_outcomes(tmp_path / "theme.jsonl")) == ["one", "two", "three"]
    assert read_outcomes(tmp_path / "theme.jsonl")["two"] == ENDLESS
