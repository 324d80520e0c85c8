"""Starting, watching and stopping jobs, and what comes along with them."""

from __future__ import annotations

import json
import textwrap
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace import errors
from headrace.common import JobStatus, Types, WatermarkStrategy
from headrace.common.accumulators import Histogram, IntCounter
from headrace.datastream import (
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    collecting,
)
from headrace.datastream.connectors import DiscardingSink, NumberSequenceSource
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.expressions import col
from headrace.table.udf import udf
from headrace.testing.sources import ScriptedSource
from tests.spark.fault_jobs import Numbers
from tests.spark.real_time_parts import until_still

NO_TIME = WatermarkStrategy.no_watermarks()


class Endless(Numbers):
    """Never ends, and gives a few records with every micro-batch."""

    def __init__(self, limit: int = 10**9):
        super().__init__(limit, step=5, splits=1)

    def boundedness(self) -> Any:
        from headrace.datastream.connectors import Boundedness

        return Boundedness.CONTINUOUS_UNBOUNDED


@pytest.mark.smoke
def test_collecting_from_an_endless_job(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_source(Endless(), NO_TIME, "endless").map(lambda record: record[1])
    with numbers.execute_and_collect() as records:
        assert [next(records) for _ in range(12)] == list(range(12))
    assert list(records) == []
    # Exactly as many as there will ever be: asking for one more would wait for ever.
    few = env.from_source(Endless(limit=3), NO_TIME, "few").map(lambda record: record[1])
    assert few.execute_and_collect(limit=3) == [0, 1, 2]


def test_what_nobody_takes_makes_sources_pause(
    env: StreamExecutionEnvironment, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "_MOST", 50)
    numbers = env.from_source(Endless(), NO_TIME, "endless").map(lambda record: record[1])
    with numbers.execute_and_collect() as records:
        eventually(lambda: records.is_full)
        assert until_still(lambda: records.came)
        assert [next(records) for _ in range(500)] == list(range(500))


def test_watching_and_cancelling(env: StreamExecutionEnvironment, eventually: Any) -> None:
    numbers = env.from_source(Endless(), NO_TIME, "endless").map(Observed())
    numbers.sink_to(DiscardingSink())
    client = env.execute_async("endless job")
    assert client.get_job_status().result() == JobStatus.RUNNING
    eventually(lambda: client.get_accumulators().result().get("seen", 0) > 10)
    client.cancel().result()
    assert client.get_job_status().result() == JobStatus.CANCELED
    with pytest.raises(errors.JobCancelled):
        client.get_job_execution_result().result()


@pytest.mark.smoke
def test_cancelling_a_batch(env: StreamExecutionEnvironment) -> None:
    def slow(n: int) -> int:
        import time

        time.sleep(0.05)
        return n

    env.from_collection(range(10_000)).map(slow).sink_to(DiscardingSink())
    client = env.execute_async()
    client.cancel().result()
    assert client.get_job_status().result() == JobStatus.CANCELED


class Observed(MapFunction):
    """Counts what it sees in every way there is."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seen = IntCounter()
        self._sizes = Histogram()
        runtime_context.add_accumulator("seen", self._seen)
        runtime_context.add_accumulator("sizes", self._sizes)
        metrics = runtime_context.get_metrics_group()
        self._counter = metrics.counter("records")
        metrics.gauge("answer", lambda: 42)
        self._facts = runtime_context

    def map(self, value: Any) -> Any:
        self._seen.add(1)
        self._sizes.add(len(str(value)))
        self._counter.inc()
        return value


class Facts(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        cached = Path(runtime_context.get_distributed_cache().get_file("cities"))
        self._facts = (
            runtime_context.get_task_name(),
            runtime_context.get_task_name_with_subtasks(),
            runtime_context.get_index_of_this_subtask(),
            runtime_context.get_number_of_parallel_subtasks(),
            runtime_context.get_max_number_of_parallel_subtasks(),
            runtime_context.get_attempt_number(),
            runtime_context.get_job_parameter("colour", "none"),
            runtime_context.get_job_parameter("missing", "default"),
            cached.read_text(),
        )

    def map(self, value: Any) -> Any:
        return self._facts


@pytest.mark.smoke
def test_results_and_facts(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    (tmp_path / "cities.txt").write_text("Berlin")
    env.register_cached_file(str(tmp_path / "cities.txt"), "cities")
    env.get_config().set_global_job_parameters({"colour": "blue"})
    env.set_max_parallelism(16)
    source = ScriptedSource([["a", "bb"], ["cc"], ["d"]])
    words = env.from_source(source, NO_TIME, "words")
    words.rebalance().map(Observed()).name("Observe").sink_to(DiscardingSink())
    result = env.execute("observed")
    assert result.get_all_accumulator_results() == {"seen": 4, "sizes": {1: 2, 2: 2}}
    assert result.get_accumulator_result("seen") == 4
    assert result.get_metrics()["Observe"]["records"]["count"] == 4
    assert result.get_net_runtime() > 0
    assert result.get_accumulator_result("other") is None
    facts = set(env.from_collection([1]).global_().map(Facts()).name("F").execute_and_collect())
    assert facts == {("F", "F (1/2)#0", 0, 2, 16, 0, "blue", "default", "Berlin")}


def uses_dependencies(value: Any) -> Any:
    import brought_along  # type: ignore[import-not-found]
    import tiny_package  # type: ignore[import-not-found]

    return brought_along.shout(value), tiny_package.NUMBER, Path("data/words.txt").read_text()


def test_python_dependencies(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "brought_along.py").write_text("def shout(x):\n    return x.upper()\n")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    write_wheel(wheels)
    (tmp_path / "requirements.txt").write_text("tiny-package==1.0\n")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("words.txt", "to be")
    env.add_python_file(str(tmp_path / "brought_along.py"))
    env.set_python_requirements(str(tmp_path / "requirements.txt"), str(wheels))
    env.add_python_archive(str(tmp_path / "data.zip"), "data")
    found = list(env.from_collection(["a"]).map(uses_dependencies).execute_and_collect())
    assert found == [("A", 7, "to be")]
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.add_python_archive(str(tmp_path / "data.zip"), "data")
    reads = udf(lambda _: Path("data/words.txt").read_text(), result_type="STRING")
    alone = tables.from_elements([(1,)], ["i"]).select(reads(col("i")))
    assert "native Spark operators" in alone.explain()
    assert [row[0] for row in alone.execute().collect()] == ["to be"]
    elsewhere = StreamExecutionEnvironment.get_execution_environment()
    elsewhere.add_python_file(str(tmp_path / "absent.py"))
    with pytest.raises(errors.InvalidArgument, match="there is no such file"):
        list(elsewhere.from_collection([1]).map(lambda n: n).execute_and_collect())


def imports_what_was_brought(value: Any) -> Any:
    import brought_twice  # type: ignore[import-not-found]

    return brought_twice.VALUE


def test_of_two_modules_with_one_name_the_later_file_wins(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    """Also over what this program finds itself; and the next job of the same workers has its own,
    also in a query that Spark runs alone."""
    places = {}
    for name in ("first", "second", "third"):
        (tmp_path / name).mkdir()
        places[name] = tmp_path / name / "brought_twice.py"
        places[name].write_text(f"VALUE = {name!r}\n")
    env.add_python_file(str(places["first"]))
    env.add_python_file(str(tmp_path / "second"))
    numbers = env.from_collection(list(range(4)))
    found = numbers.map(imports_what_was_brought).execute_and_collect()
    assert set(found) == {"second"}
    env.add_python_file(str(places["third"]))
    found = env.from_collection([1, 2]).map(imports_what_was_brought).execute_and_collect()
    assert set(found) == {"third"}
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.add_python_file(str(places["first"]))
    brought = udf(imports_what_was_brought, result_type=DataTypes.STRING())
    rows = tables.from_elements([(1,), (2,)], ["a"]).select(brought(col("a"))).execute()
    with rows.collect() as collected:
        assert {row[0] for row in collected} == {"first"}


def write_wheel(folder: Path) -> None:
    """A wheel by hand: building one would need a network."""
    info = "tiny_package-1.0.dist-info"
    contents = {
        "tiny_package.py": "NUMBER = 7\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-package\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*contents, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / "tiny_package-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in {**contents, f"{info}/RECORD": record}.items():
            wheel.writestr(name, text)


@pytest.mark.smoke
def test_plans(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_source(NumberSequenceSource(1, 4), NO_TIME, "numbers").uid("source")
    doubled = numbers.map(lambda n: n * 2).name("Double").set_parallelism(1).uid("double")
    kept = doubled.filter(lambda n: n > 2).name("Keep").disable_chaining()
    keyed = kept.key_by(lambda n: n % 2).map(lambda n: n).name("Keyed").uid("keyed")
    keyed.sink_to(DiscardingSink()).name("Gone")
    nodes = {node["type"]: node for node in json.loads(env.get_execution_plan())["nodes"]}
    assert list(nodes) == ["Source: numbers", "Double", "Keep", "Keyed", "Gone"]
    assert nodes["Double"]["parallelism"] == 1
    assert nodes["Keyed"]["predecessors"][0]["ship_strategy"] == "HASH"
    assert nodes["Double"]["predecessors"][0]["ship_strategy"] == "REBALANCE"
    text = env.explain()
    assert "== Stream graph ==" in text
    assert "uid=keyed" in text
    assert (
        textwrap.dedent("""\
        level 0
          Source: numbers  x2  group=default
            sends by rebalance to 'Double'
        level 1
          Double  x1  group=default
        """)
        in text
    )
    assert "Keyed -> Gone  x2" in text
    assert "== Spark plan: one Spark batch ==" in text
    assert "MapInArrow" in text
    env.execute()


Collect = Callable[[Any], Counter[Any]]


@pytest.mark.usefixtures("streaming")
def test_records_that_travel_with_the_plan_may_be_many(env: StreamExecutionEnvironment) -> None:
    """More than a megabyte, which Spark would not hand to the process that plans a source."""
    source = ScriptedSource([list(range(400_000)), [400_000]])
    scripted = env.from_source(source, WatermarkStrategy.no_watermarks(), "script")
    numbers = env.from_collection(list(range(400_000)), Types.LONG())
    both = scripted.union(numbers)
    assert Counter(both.map(lambda n: n % 2).execute_and_collect()) == {0: 400_001, 1: 400_000}


@pytest.mark.smoke
def test_several_jobs_of_one_environment(
    env: StreamExecutionEnvironment, collected: Collect, capfd: pytest.CaptureFixture[str]
) -> None:
    numbers = env.from_collection([1, 2], Types.INT())
    numbers.map(lambda n: n + 1).print("first").set_parallelism(1)
    env.execute()
    assert sorted(capfd.readouterr().out.splitlines()) == ["first> 2", "first> 3"]
    # What was executed is not executed again.
    assert collected(numbers.map(lambda n: n * 10)) == Counter([10, 20])
    assert capfd.readouterr().out == ""
