"""A slow sink: micro-batches stay short, memory bounded, the lag visible, and nothing is lost."""

from __future__ import annotations

import itertools
import os
import resource
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import (
    DataGeneratorSource,
    FileSource,
    NumberSequenceSource,
    Sink,
    SinkWriter,
    StreamFormat,
)
from headrace.jobs.lag import SourceLag

pytestmark = pytest.mark.micro_batch("how much a micro-batch reads")
NO_TIME = WatermarkStrategy.no_watermarks()
PAYLOAD = 10_000


class SlowSink(Sink[Any]):
    """Takes its time for each record and holds those of a micro-batch until it ends.

    One file for each subtask and micro-batch: a line for each record, at last the memory used.
    """

    def __init__(self, folder: Path, seconds: float):
        self.folder, self.seconds = folder, seconds

    def create_writer(self, task: Any) -> SinkWriter[Any]:
        return _SlowWriter(self, f"{task.batch_id:06d}-{task.partition:02d}")


class _SlowWriter(SinkWriter[Any]):
    def __init__(self, sink: SlowSink, name: str):
        self._sink, self._name = sink, name
        self._held: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        time.sleep(self._sink.seconds)
        self._held.append(value)

    def prepare_commit(self) -> list[Any]:
        lines = [str(value[0] if isinstance(value, tuple) else value) for value in self._held]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        path = self._sink.folder / f"{self._name}.{os.getpid()}"
        path.write_text("\n".join([*lines, f"kilobytes {peak}"]), encoding="utf-8")
        path.rename(self._sink.folder / self._name)
        return []


class Written:
    """What a slow sink has written in the micro-batches that have come to their end."""

    def __init__(self, folder: Path, subtasks: int = 2):
        self.by_batch: dict[int, Counter[str]] = {}
        self.peak_kilobytes = 0
        files = [file for file in sorted(folder.iterdir()) if not file.suffix]
        parts = Counter(file.name.split("-")[0] for file in files)
        for file in files:
            batch = file.name.split("-")[0]
            if parts[batch] < subtasks:
                continue
            *lines, memory = file.read_text(encoding="utf-8").splitlines()
            self.by_batch.setdefault(int(batch), Counter()).update(lines)
            self.peak_kilobytes = max(self.peak_kilobytes, int(memory.split()[1]))

    @property
    def sizes(self) -> list[int]:
        return [batch.total() for batch in self.by_batch.values() if batch]

    @property
    def everything(self) -> Counter[str]:
        return sum(self.by_batch.values(), Counter())


def make_env(**options: str) -> StreamExecutionEnvironment:
    settings = {f"headrace.stream.{name.replace('_', '-')}": text for name, text in options.items()}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    return env


def watched(env: StreamExecutionEnvironment) -> list[SourceLag]:
    """Run a job of one source to its end; its lag after each micro-batch."""
    client = env.execute_async()
    seen: list[SourceLag] = []
    has_ended = False
    while not has_ended:
        has_ended = client.get_job_status().result().is_terminal_state()  # and one look more
        for lag in client.get_lag().values():
            if lag.last_batch_ms is not None and lag not in seen:
                seen.append(lag)
        time.sleep(0.05)
    client.get_job_execution_result().result()
    return seen


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.usefixtures("streaming")
def test_a_slow_sink(tmp_path: Path) -> None:
    count = 30_000
    env = make_env(target_batch_duration="1 s")
    source = DataGeneratorSource(lambda number: (number, f"{number:0{PAYLOAD}d}"), count=count)
    records = env.from_source(source, NO_TIME, "numbers").key_by(lambda record: record[0] % 64)
    records.map(lambda record: record).sink_to(SlowSink(tmp_path, 0.0005))
    lags = watched(env)
    written = Written(tmp_path)
    assert written.everything == Counter(map(str, range(count)))
    assert len(written.sizes) >= 4
    durations = [lag.last_batch_ms or 0 for lag in lags]
    # The first one starts the workers, the last ones have what is left.
    settled = list(dict.fromkeys(durations))[2:-1]
    # Where the fixed cost seems high, the target is stretched up to three times. One of them may
    # have had to wait for the machine.
    assert statistics.median_low(settled) < 4000, durations
    assert max(settled) > 300, durations
    assert max(written.sizes) <= 3 * 2 / 0.0005, written.sizes
    # All records at once would be 300 MB in the writers, and as much in envelopes.
    assert written.peak_kilobytes < 450_000
    behind = list(dict.fromkeys(lag.records_behind for lag in lags))
    assert set(behind) <= {count - done for done in itertools.accumulate(written.sizes)}
    assert behind == sorted(behind, key=lambda records: -(records or 0))
    assert len(behind) > 1
    assert behind[-1] == 0
    assert all(lag.limit is not None for lag in lags)


@pytest.mark.usefixtures("streaming")
def test_files_are_read_in_pieces(tmp_path: Path) -> None:
    lines = [f"line {number} {'x' * (number % 50)}" for number in range(20_000)]
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for part in range(4):
        text = "\n".join(lines[part * 5000 : part * 5000 + 5000]) + "\n"
        (tmp_path / "in" / f"{part}.txt").write_text(text, encoding="utf-8")
    env = make_env(max_records_per_batch="3000")
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "in")
    ).build()
    env.from_source(source, NO_TIME, "lines").sink_to(SlowSink(tmp_path / "out", 0))
    env.execute("pieces")
    written = Written(tmp_path / "out")
    assert written.everything == Counter(lines)
    assert len(written.sizes) >= 6
    assert max(written.sizes) < 3500
    # One file after the other: no micro-batch has lines of more than two.
    for batch in written.by_batch.values():
        files = {int(line.split()[1]) // 5000 for line in batch}
        assert max(files, default=0) - min(files, default=0) <= 1


@pytest.mark.usefixtures("streaming")
def test_a_bounded_job_without_checkpoints_takes_all_at_once(tmp_path: Path) -> None:
    env = make_env()
    numbers = env.from_source(NumberSequenceSource(1, 30_000), NO_TIME, "numbers")
    numbers.sink_to(SlowSink(tmp_path, 0))
    env.execute("at once")
    assert Written(tmp_path).sizes == [30_000]


def test_the_lag_of_an_endless_source(tmp_path: Path, eventually: Any) -> None:
    # However long they take, micro-batches need not be smaller than asked for.
    env = make_env(target_batch_duration="100 s", max_records_per_batch="500")
    source = DataGeneratorSource(lambda number: number)
    env.from_source(source, NO_TIME, "endless").uid("numbers").sink_to(SlowSink(tmp_path, 0.001))
    client = env.execute_async("endless")
    eventually(lambda: any(lag.last_batch_ms for lag in client.get_lag().values()))
    lag = client.get_lag()["numbers"]
    client.cancel().result()
    assert (lag.name, lag.limit) == ("Source: endless", 500)
    assert lag.records_behind == 2 * 100_000 - 500
    assert [split.position % 250 for split in lag.splits.values()] == [0, 0]
    written = Written(tmp_path).everything
    assert set(written.values()) == {1}
    # Both splits are read at the same pace: what was written has no gaps.
    assert {int(number) for number in written} == set(range(written.total()))
