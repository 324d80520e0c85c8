"""The benchmarks themselves: what they count, and what they call exact or flat."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from bench.__main__ import ALL, chosen
from bench.engines import Engine, RunFailed, running, seconds_until
from bench.latency import SAMPLE, counted
from bench.output import Output
from bench.process_tree import tree_cpu_seconds
from bench.soak import Ledger, growth, sum_of
from bench.suite import BENCHMARKS
from tests.unit.waiting import wait_until

PYTHON = Engine(name="Python", command=(sys.executable,))


@pytest.fixture
def jobs(repository: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """Modules of jobs, imported as the jobs import each other."""
    monkeypatch.syspath_prepend(str(repository / "bench" / "jobs"))
    import paced
    import soak

    found = {"paced": paced, "soak": soak}
    for name in found:
        monkeypatch.delitem(sys.modules, name)
    return found


def test_each_benchmark_stands_in_the_table_of_the_readme(repository):
    page = (repository / "bench" / "README.md").read_text(encoding="utf-8")
    assert [each.name for each in BENCHMARKS if f"\n| `{each.name}` |" not in page] == []


def test_all_is_everything_but_the_soak():
    names = [each.name for each in BENCHMARKS]
    assert [each.name for each in chosen([ALL])] == [name for name in names if name != "soak"]
    assert [each.name for each in chosen([ALL, "soak"])] == names


def test_the_later_half_of_latencies_counts_and_a_torn_line_does_not():
    lines = [f"{moment} {900 if moment < 100 else moment}" for moment in range(200)]
    seen = counted([*reversed(lines), "12"])
    assert (seen.median, seen.p99, seen.results) == (150, 199, 100)
    assert seen.per_second == pytest.approx(100 * SAMPLE / 99)


def test_paced_records_are_made_when_due_and_each_of_them_once(jobs):
    source = jobs["paced"].Paced(lambda number: number, 1000, time.time() - 5, 4000)
    due, reader = source.create_enumerator(), source.create_reader()
    parts = [reader.read(split, 0, due.latest_position(split, 0)) for split in due.splits()]
    assert sorted(number for part in parts for number in part) == list(range(4000))
    assert len(parts) > 1
    waiting = jobs["paced"].Paced(lambda number: number, 0).create_enumerator()
    assert [waiting.latest_position(split, 7) for split in waiting.splits()] == [7, 7]


def test_the_soak_knows_the_sum_of_each_key_of_its_job(jobs):
    job, sums, sizes = jobs["soak"], Counter[int](), Counter[int]()
    for number in range(2 * job.KEYS_AT_A_TIME * job.OF_A_KEY):
        key = job.key_of(number)
        sums[key] += number
        sizes[key] += 1
    assert set(sizes.values()) == {job.OF_A_KEY}
    assert sums == {key: sum_of(key) for key in range(2 * job.KEYS_AT_A_TIME)}


def test_a_result_that_is_missing_or_wrong_or_comes_twice_is_noticed():
    ledger = Ledger(4)
    ledger.note([f"0 {sum_of(0)}", f"1 {sum_of(1)}", f"1 {sum_of(1)}", "2 5", f"9 {sum_of(9)}"])
    assert (ledger.found, ledger.missing, ledger.wrong) == (2, 2, 3)


def test_growth_is_of_the_mean_and_jitter_is_none():
    assert growth([(second, 100.0 + second % 2) for second in range(101)]) == pytest.approx(0)
    assert growth([(second, 100.0 + second) for second in range(101)]) == pytest.approx(2 / 3)
    assert growth([]) == 0


def test_committed_files_are_read_once(tmp_path):
    output = Output(tmp_path)
    (tmp_path / "hour").mkdir()
    (tmp_path / "hour" / "part-0").write_text("a\nb\n")
    (tmp_path / "hour" / ".part-1.inprogress").write_text("c\n")
    assert list(output.new_lines()) == ["a", "b"]
    (tmp_path / "hour" / "part-1").write_text("c\n")
    assert list(output.new_lines()) == ["c"]


def of_others(root: psutil.Process) -> float:
    """The time of a tree without that of its root."""
    return tree_cpu_seconds(root) - sum(root.cpu_times()[:2])


@pytest.mark.skipif(not psutil.LINUX, reason="elsewhere the time of ended children is not kept")
def test_the_time_of_processes_that_have_ended_stays_that_of_the_tree():
    work = "import time\nwhile time.process_time() < 0.3: pass"
    ends = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {work!r}])\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", ends], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as tree:
        root = psutil.Process(tree.pid)
        wait_until(lambda: not root.children() and of_others(root) > 0.25, "the time of a child")
        tree.communicate(b"\n")


def test_a_script_that_ends_too_soon_is_reported_with_what_it_said(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("print('no such luck')")
    with running(PYTHON, str(script), [], tmp_path) as process:
        process.wait()
        with pytest.raises(RunFailed, match="no such luck"):
            seconds_until(lambda: False, process, tmp_path)
