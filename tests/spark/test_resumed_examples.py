"""Every example also runs as a stream that is stopped three times and resumed at another
parallelism, and prints what it prints when nobody stops it.

All examples are one job, for a job costs seconds on Spark. Their collections are handed over in a
few lists. Since a resumed job takes seconds, state that lives for one is made to live for a day.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace import shim
from headrace.core.source import CollectionSpec, SplitSpec
from headrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.examples import fraud_detection
from headrace.graph.nodes import Graph, SourceNode
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
    """One environment that all examples add to."""

    def __init__(self, folder: Path):
        self.env = StreamExecutionEnvironment.get_execution_environment(settings(folder))
        self.graph: Graph | None = None

    def add(self, script: Path) -> None:
        """Run a script that builds a job, and let its sources take turns."""
        known = set(self._sources())
        text = script.read_text(encoding="utf-8")
        text = text.replace("new_builder(Time.seconds(1))", "new_builder(Time.days(1))")
        exec(compile(text, str(script), "exec"), {"__name__": "__main__", "__file__": str(script)})
        self._hand_over([id for id in self._sources() if id not in known])

    def add_fraud_detection(self) -> None:
        known = set(self._sources())
        numbers = [*range(0, 12), *range(400, 408), *range(1000, 1010)]
        payments = self.env.from_collection([fraud_detection.make_payment(n) for n in numbers])
        alerts, late = fraud_detection.detect(self.env, payments)
        alerts.print("alert")
        late.print("late")
        self._hand_over([id for id in self._sources() if id not in known])

    def finished(self) -> None:
        self.env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
        self.env.set_parallelism(2)
        self.graph = self.env.builder.peek("examples", **self.env._graph_settings())

    def _sources(self) -> dict[int, SourceNode]:
        graph = self.env.builder.peek("", **{**self.env._graph_settings(), "batch": False})
        return {node.id: node for node in graph if isinstance(node, SourceNode)}

    def _hand_over(self, new: list[int]) -> None:
        """Cut collections into lists, so that of two sources of an example one is first."""
        for turn, id in enumerate(new):
            spec = self._sources()[id].spec
            if isinstance(spec, CollectionSpec):
                script: list[Any] = []
                size = -(-len(spec.values) // LISTS)
                for first in range(0, len(spec.values), size):
                    script += [()] * turn
                    script.append(spec.values[first : first + size])
                    script += [()] * (len(new) - 1 - turn)
                self.env.builder.change(id, spec=SplitSpec(ScriptedSource(script)))


@pytest.fixture(scope="module")
def everything(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Everything:  # noqa: F811
    made = Everything(tmp_path_factory.mktemp("examples"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StreamExecutionEnvironment, "get_execution_environment", lambda: made.env)
        patch.setattr(StreamExecutionEnvironment, "execute", lambda *_: None)
        patch.setattr("sys.argv", ["example"])
        for script in OWN:
            if script.stem != READS_BACK_WHAT_IT_WROTE:
                made.add(script)
        shim.install()
        try:
            for name in PRINTING:
                made.add(examples / f"{name}.py")
        finally:
            shim.uninstall()
    made.add_fraud_detection()
    made.finished()
    return made


def test_resumed_at_another_parallelism(
    everything: Everything, capsys: pytest.CaptureFixture[str]
) -> None:
    undisturbed = lines("\n".join(JobHarness().run(everything.env).printed))
    assert undisturbed.total() > 100
    rescaled = JobHarness().run(everything.env, rescale_after={1: 5, 2: 1, 4: 3, 6: 2})
    assert lines("\n".join(rescaled.printed)) == undisturbed
    capsys.readouterr()
    assert everything.graph is not None
    run_with_stops(everything.env, everything.graph)
    assert lines(capsys.readouterr().out) == undisturbed
