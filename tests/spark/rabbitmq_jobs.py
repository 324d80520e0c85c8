"""A job from a queue through keyed state to a queue or files, to be killed and started again.

python -m tests.spark.rabbitmq_jobs <folder> <port of RabbitMQ> <queue> <queue of its output, or ->

    RABBITMQ_JOBS_IDS    0: without correlation ids
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Encoder, SimpleStringSchema
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import FileSink, RollingPolicy
from headrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from tests.spark.counts import counts_of

ROOT = Path(__file__).resolve().parents[2]


def count(
    env: StreamExecutionEnvironment, config: RMQConnectionConfig, queue: str, *, ids: bool = True
) -> Any:
    """The counts of a queue's numbers."""
    numbers = env.add_source(RMQSource(config, queue, ids, SimpleStringSchema())).uid("numbers")
    return counts_of(numbers)


def lines(folder: Path) -> Counter[str]:
    """What stands in the files of the output that are finished."""
    files = [file for file in folder.rglob("part-*") if not file.name.startswith((".", "_"))]
    return Counter(line for file in files for line in file.read_text().splitlines())


def begin(folder: Path, *arguments: str, **environ: str) -> subprocess.Popen[str]:
    """One life of the program, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.rabbitmq_jobs", str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def main() -> None:
    from tests.servers.rabbitmq import config_of

    folder, port, queue, output = sys.argv[1:]
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "9")
    settings.set_string("restart-strategy.fixed-delay.delay", "0s")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(1)
    env.enable_checkpointing(100)
    config = config_of(int(port), prefetch_count=100)
    counts = count(env, config, queue, ids=os.environ.get("RABBITMQ_JOBS_IDS") != "0")
    if output == "-":
        files = FileSink.for_row_format(f"{folder}/output", Encoder.simple_string_encoder())
        rolling = RollingPolicy.on_checkpoint_rolling_policy()
        counts.sink_to(files.with_rolling_policy(rolling).build()).uid("sink")
    else:
        counts.add_sink(RMQSink(config, output, SimpleStringSchema())).uid("sink")
    env.execute("counts")


if __name__ == "__main__":
    main()
