"""How event time advances in running streams: idle splits, waiting splits, single records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing import JobHarness
from headrace.testing.sources import ScriptedSource

LATE = OutputTag("late")


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def monotonous() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return strategy.with_timestamp_assigner(SecondField())


class Folder(Source[Any]):
    """An endless source: each file below a folder is a split, a line of it a JSON record."""

    def __init__(self, folder: Path):
        self.folder = folder

    def create_enumerator(self) -> SplitEnumerator:
        return _Files(self.folder)

    def create_reader(self) -> SplitReader[Any]:
        return _Lines(self.folder)


class _Files(SplitEnumerator):
    def __init__(self, folder: Path):
        self.folder = folder

    def splits(self) -> list[Split]:
        return [Split(path.name) for path in sorted(self.folder.iterdir())]

    def latest_position(self, split: Split, start: Any) -> Any:
        return len((self.folder / split.id).read_text().splitlines())


class _Lines(SplitReader[Any]):
    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, split: Split, start: Any, end: Any) -> Any:
        lines = (self.folder / split.id).read_text().splitlines()[start:end]
        return [tuple(json.loads(line)) for line in lines]


def write(file: Path, *records: tuple[str, int]) -> None:
    with file.open("a") as sink:
        sink.writelines(json.dumps(record) + "\n" for record in records)


def tens(stream: DataStream) -> DataStream:
    ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
    windows = stream.key_by(lambda v: v[0]).window(ten)
    return windows.side_output_late_data(LATE).reduce(lambda a, b: (a[0], b[1]))


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """All that the job has printed up to now."""
    parts: list[str] = []

    def text() -> str:
        parts.append(capsys.readouterr().out)
        return "".join(parts)

    return text


def test_an_idle_split_lets_windows_fire(
    env: StreamExecutionEnvironment, tmp_path: Path, eventually: Any, printed: Callable[[], str]
) -> None:
    """The silent split holds time back until it is idle; then no record is needed to go on."""
    write(tmp_path / "busy", ("a", 1), ("a", 50))
    (tmp_path / "silent").touch()
    strategy = monotonous().with_idleness(Duration.of_seconds(4))
    tens(env.from_source(Folder(tmp_path), strategy, "folder")).print()
    client = env.execute_async("idle")
    try:
        eventually(lambda: "('a', 1)" in printed())
        known = {split.split for each in client.get_watermarks() for split in each.splits}
        assert known == {"busy", "silent"}
    finally:
        client.cancel().result()


class Nothing(Source[Any]):
    """A bounded source that has no splits."""

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _NoSplits()

    def create_reader(self) -> SplitReader[Any]:
        return _Lines(Path())


class _NoSplits(SplitEnumerator):
    def splits(self) -> list[Split]:
        return []

    def latest_position(self, split: Split, start: Any) -> Any:
        raise AssertionError("there is no split")


@pytest.mark.parametrize("empty", [ScriptedSource([]), Nothing()], ids=["no records", "no splits"])
def test_a_bounded_source_without_records_holds_nobody_back(
    env: StreamExecutionEnvironment, tmp_path: Path, eventually: Any, empty: Source[Any],
    printed: Callable[[], str],
) -> None:  # fmt: skip
    write(tmp_path / "busy", ("a", 1), ("a", 50))
    endless = env.from_source(Folder(tmp_path), monotonous(), "folder")
    tens(env.from_source(empty, monotonous(), "empty").union(endless)).print()
    client = env.execute_async("with nothing")
    try:
        eventually(lambda: "('a', 1)" in printed())
    finally:
        client.cancel().result()


def test_a_split_that_is_ahead_waits(
    env: StreamExecutionEnvironment, tmp_path: Path, eventually: Any
) -> None:
    write(tmp_path / "fast", ("a", 1_000_000))
    write(tmp_path / "slow", ("b", 1))
    strategy = monotonous().with_watermark_alignment("both", Duration.of_millis(100))
    env.from_source(Folder(tmp_path), strategy, "folder").key_by(str).process(Pass()).print()
    client = env.execute_async("aligned")

    def records() -> int:
        return client._results.records_in(min(client._results._plan.vertices))

    try:
        eventually(lambda: records() == 2)
        write(tmp_path / "fast", ("a", 1_000_001))
        write(tmp_path / "slow", ("b", 2))
        eventually(lambda: records() == 3)  # only the slow one is read
        fast = next(split for each in client.get_watermarks() for split in each.splits
                    if split.split == "fast")  # fmt: skip
        assert fast.watermark == 999_999
        write(tmp_path / "slow", ("b", 2_000_000))
        eventually(lambda: records() == 5)
    finally:
        client.cancel().result()


class Pass(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


@pytest.mark.usefixtures("streaming")
def test_watermarks_with_every_record(
    env: StreamExecutionEnvironment, collected: Callable[[DataStream], Counter[Any]]
) -> None:
    """What is late does not depend on where micro-batches are cut."""
    env.get_config().set_auto_watermark_interval(0)
    records = [("a", 1), ("b", 12), ("a", 3), ("b", 25), ("b", 11), ("a", 27), ("a", 40)]
    for cuts in ([records], [records[:2], records[2:]], [[record] for record in records]):

        def stream(cuts: list[list[Any]] = cuts) -> DataStream:
            panes = tens(env.from_source(ScriptedSource(cuts), monotonous(), "script"))
            late = panes.get_side_output(LATE).map(lambda v: ("late", *v))
            return panes.map(lambda v: ("pane", *v)).union(late)

        expected = Counter({("late", "a", 3): 1, ("late", "b", 11): 1, ("pane", "a", 1): 1,
                            ("pane", "b", 12): 1, ("pane", "b", 25): 1, ("pane", "a", 27): 1,
                            ("pane", "a", 40): 1})  # fmt: skip
        assert Counter(JobHarness().run(stream()).values) == expected
        assert collected(stream()) == expected
