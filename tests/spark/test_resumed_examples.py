"""Every example also runs as a stream that is stopped three times and resumed at another
parallelism, and prints what it prints when nobody stops it.

All examples are one job, for a job costs seconds on Spark. Their collections are handed over in a
few lists. Since a resumed job takes seconds, state that lives for one is made to live for a day.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headrace import shim
from headrace.common import WatermarkStrategy
from headrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.examples import fraud_detection
from headrace.graph.nodes import Graph
from headrace.testing import JobHarness, ScriptedSource
from tests.spark.savepoint_jobs import settings
from tests.spark.stopped_jobs import run_with_stops
from tests.spark.test_pyflink_examples import PRINTING, examples  # noqa: F401

OWN = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
READS_BACK_WHAT_IT_WROTE = "numbered_lines"
"""Its files are gone when it ends; resuming a sink of files has tests of its own."""
LISTS = 5
_SUBTASK = re.compile(r"^\d+> |(?<=\w):\d+(?=> )")


def lines(text: str) -> Counter[str]:
    return Counter(_SUBTASK.sub("", line) for line in text.splitlines())


class Everything:
    """One environment that all examples add to, and one source for all their collections: each
    source would be one more process to start."""

    def __init__(self, folder: Path):
        self.env = StreamExecutionEnvironment.get_execution_environment(settings(folder))
        self._source = ScriptedSource([])
        no_time = WatermarkStrategy.no_watermarks()
        self._common = self.env.from_source(self._source, no_time, "all collections").uid("all")
        self._new: list[list[Any]] = []
        self._numbers = count()

    def from_collection(self, collection: Any, type_info: Any = None) -> DataStream:
        number = next(self._numbers)
        self._new.append([(number, value) for value in collection])
        return self._common.flat_map(partial(_own, number), type_info)

    def add(self, script: Path) -> None:
        """Run a script that builds a job."""
        text = script.read_text(encoding="utf-8")
        text = text.replace("new_builder(Time.seconds(1))", "new_builder(Time.days(1))")
        exec(compile(text, str(script), "exec"), {"__name__": "__main__", "__file__": str(script)})
        self._hand_over()

    def add_fraud_detection(self) -> None:
        numbers = [*range(12), *range(400, 408), *range(1000, 1010)]
        payments = self.from_collection([fraud_detection.make_payment(n) for n in numbers])
        alerts, late = fraud_detection.detect(self.env, payments)
        alerts.print("alert")
        late.print("late")
        self._hand_over()

    def graph(self) -> Graph:
        self.env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
        self.env.set_parallelism(2)
        return self.env.builder.peek("examples", **self.env._graph_settings())

    def _hand_over(self) -> None:
        """Put an example's records into a few lists; its collections take turns, for what a
        function that is fed by two of them does may depend on which record is first."""
        lists = self._source._batches
        for turn, records in enumerate(self._new):
            size = -(-len(records) // LISTS)
            for number, first in enumerate(range(0, len(records), size)):
                at = number * len(self._new) + turn
                lists.extend([] for _ in range(at + 1 - len(lists)))
                lists[at] += records[first : first + size]
        self._new = []


def _own(number: int, record: tuple[int, Any]) -> list[Any]:
    return [record[1]] if record[0] == number else []


@pytest.fixture(scope="module")
def everything(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Everything:  # noqa: F811
    made = Everything(tmp_path_factory.mktemp("examples"))

    def from_collection(_: Any, *given: Any, **named: Any) -> DataStream:
        return made.from_collection(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StreamExecutionEnvironment, "get_execution_environment", lambda: made.env)
        patch.setattr(StreamExecutionEnvironment, "execute", lambda *_: None)
        patch.setattr(
            StreamExecutionEnvironment,
            "from_collection",
            lambda _, *given, **named: made.from_collection(*given, **named),
        )
        patch.setattr("sys.argv", ["example"])
        for script in OWN:
            if script.stem != READS_BACK_WHAT_IT_WROTE:
                made.add(script)
        shim.install()
        try:
            for name in (each for each in PRINTING if each.startswith("datastream/")):
                made.add(examples / f"{name}.py")
        finally:
            shim.uninstall()
    made.add_fraud_detection()
    return made


def test_resumed_at_another_parallelism(
    everything: Everything, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = everything.graph()
    undisturbed = lines("\n".join(JobHarness().run(everything.env).printed))
    assert undisturbed.total() > 100
    rescaled = JobHarness().run(everything.env, rescale_after={1: 5, 2: 1, 4: 3, 6: 2})
    assert lines("\n".join(rescaled.printed)) == undisturbed
    capsys.readouterr()
    run_with_stops(everything.env, graph)
    assert lines(capsys.readouterr().out) == undisturbed
