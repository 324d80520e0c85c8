"""Jobs whose checkpoints are where only Spark's Hadoop gets at them.

python -m tests.spark.hadoop_jobs <folder> <job> …
"""

from __future__ import annotations

import json
import os
import signal
import sys
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace.common import Configuration, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import MapFunction
from headrace.errors import HeadraceError
from headrace.spark.session import get_session
from tests.spark.conftest import visible, wait_until
from tests.spark.savepoint_jobs import every_state, expected, to_files

SLOTS = 10
PATIENCE = 120
REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"


def mount(spark: SparkSession, folder: Path) -> str:
    """An address of Hadoop's view file system; what lies there is in a folder of the test."""
    folder.mkdir()
    name = f"test-{uuid.uuid4().hex}"  # Hadoop remembers file systems by name
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set(f"fs.viewfs.mounttable.{name}.link./data", f"file://{folder}")
    return f"viewfs://{name}/data"


def environment(
    checkpoints: str, parallelism: int, mode: str = REAL_TIME, **options: str
) -> StreamExecutionEnvironment:
    settings = Configuration()
    settings.set_string("headrace.stream.mode", mode)
    settings.set_string("execution.checkpointing.dir", checkpoints)
    for key, value in options.items():
        settings.set_string(key.replace("__", "-").replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(parallelism)
    env.enable_checkpointing(100)
    return env


def lines(folder: Path) -> Counter[str]:
    """What EveryState said, but for timers."""
    found = (line for file in visible(folder) for line in file.read_text().splitlines())
    return Counter(line for line in found if " at " not in line)


def is_exact(folder: Path, limit: int) -> bool:
    return lines(folder) == Counter(expected(limit))


def rescaled(folder: Path, elsewhere: str) -> dict[str, Any]:
    """At parallelism 2, 3 and 1, saved each time; the last start is from a savepoint."""
    first, near = f"{elsewhere}/first", str(folder / "near")
    return live(folder, elsewhere, REAL_TIME, [(2, 150, first), (3, 250, first), (1, 300, near)])


def saved(folder: Path, elsewhere: str) -> dict[str, Any]:
    """At parallelism 2, and from a savepoint at 3."""
    first, second = f"{elsewhere}/first", f"{elsewhere}/second"
    return live(folder, elsewhere, MICRO_BATCH, [(2, 100, first), (3, 200, second)])


def live(
    folder: Path, elsewhere: str, mode: str, lives: list[tuple[int, int, str]]
) -> dict[str, Any]:
    """One life after the other, each with a parallelism, up to a record, with a folder."""
    valve, out = folder / "valve", folder / "out"
    first = lives[0][2]
    asked: list[Any] = []
    path = ""
    for parallelism, limit, checkpoints in lives:
        begun_with = {} if checkpoints == first else {"execution_state__recovery_path": path}
        env = environment(checkpoints, parallelism, mode, **begun_with)
        valve.write_text(str(limit))
        to_files(every_state(env, valve), out)
        client = env.execute_async()
        wait_until(lambda wanted=limit: lines(out).total() >= wanted)
        counts = [client.query_state("every-state", "count", key) for key in range(7)]
        rows = client.state("every-state", "count").collect()
        asked.append([sum(counts), sum(row.value for row in rows)])
        path = client.stop_with_savepoint(False, f"{elsewhere}/savepoints").result(PATIENCE)
        client.get_job_execution_result().result(PATIENCE)
    return {"exact": is_exact(out, lives[-1][1]), "asked": asked, "path": path}


class Once(MapFunction):
    """Does something at a record, the first time it comes."""

    def __init__(self, mark: Path, record: str, how: str):
        self.mark, self.record, self.how = mark, record, how

    def map(self, value: str) -> str:
        if self.record in value and not self.mark.exists():
            self.mark.touch()
            if self.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("once only")
        return value


def restarted(folder: Path, elsewhere: str) -> dict[str, Any]:
    """A worker is killed, and later a function fails."""
    valve, out = folder / "valve", folder / "out"
    valve.write_text("100")
    env = environment(
        f"{elsewhere}/checkpoints", 2, restart__strategy_type="fixed-delay",
        restart__strategy_fixed__delay_attempts="5", restart__strategy_fixed__delay_delay="10 ms",
    )  # fmt: skip
    stream = every_state(env, valve)
    for how, record in (("killed", "3: 20 "), ("failed", "3: 40 ")):
        stream = stream.map(Once(folder / how, record, how), Types.STRING()).uid(how)
    to_files(stream, out)
    client = env.execute_async()
    for limit in (100, 200, 300):
        wait_until(lambda wanted=limit: lines(out).total() >= wanted)
        valve.write_text(str(limit + 100))
    wait_until(lambda: lines(out).total() >= 400)
    client.cancel().result()
    failures = [failure.message for failure in client.get_exceptions()]
    return {"exact": is_exact(out, 400), "failures": failures}


def unwritable(folder: Path, elsewhere: str) -> dict[str, Any]:
    """The store takes no more files, and a job that may be restarted goes on when it does."""
    valve, out = folder / "valve", folder / "out"
    found: dict[str, Any] = {}
    valve.write_text("50")
    for how, options in (("none", {}), ("fixed-delay", {
        "restart__strategy_fixed__delay_attempts": "1000",
        "restart__strategy_fixed__delay_delay": "100 ms",
    })):  # fmt: skip
        env = environment(f"{elsewhere}/checkpoints", 2, restart__strategy_type=how, **options)
        to_files(every_state(env, valve), out)
        client = env.execute_async()
        seen = int(valve.read_text())
        wait_until(lambda wanted=seen: lines(out).total() >= wanted)
        [state] = (folder / "elsewhere").glob("checkpoints/job-1/run-*/state")
        state.rename(state.with_name("away"))
        state.write_text("in the way")
        valve.write_text(str(seen + 50))
        if how == "none":
            try:
                client.get_job_execution_result().result(PATIENCE)
            except HeadraceError as error:
                found["error"] = str(error)
        else:
            wait_until(client.get_exceptions)
        state.unlink()
        state.with_name("away").rename(state)
    wait_until(lambda: lines(out).total() >= 150)
    client.cancel().result()
    return {**found, "exact": is_exact(out, 150)}


JOBS = {job.__name__: job for job in (rescaled, saved, restarted, unwritable)}


def main() -> None:
    spark = get_session(slots=SLOTS)
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        (folder / name).mkdir()
        elsewhere = mount(spark, folder / name / "elsewhere")
        result = JOBS[name](folder / name, elsewhere)
        # Attempts count up, and of a run's only the last one stays.
        attempts = (folder / name / "elsewhere").glob("*/job-1/run-*/attempts")
        result["attempts"] = sum(
            max(int(file.name) for file in run.iterdir() if file.name.isdigit()) for run in attempts
        )
        (folder / f"{name}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
