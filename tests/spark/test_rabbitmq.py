"""Queues of RabbitMQ as sources and sinks: a real server, whole jobs, both ways to run a stream."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, SimpleStringSchema, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.rabbitmq import RMQSink, RMQSource
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.errors import HeadraceError
from tests.servers.rabbitmq import RabbitMQ, rabbitmq  # noqa: F401
from tests.spark.conftest import wait_until
from tests.spark.counts import expected
from tests.spark.rabbitmq_jobs import count

pytestmark = pytest.mark.timeout(900)  # the first of them may have to install the server
MODES = ["real-time", "micro-batch"]


@pytest.fixture(params=MODES)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a stream runs."""
    monkeypatch.setenv("HEADRACE_STREAM_MODE", request.param)
    return str(request.param)


def environment(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", "-").replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.enable_checkpointing(100)
    return env


def begin(server: RabbitMQ, queue: str, **settings: str) -> Any:
    """Begin a job that counts by key, from queue to queue."""
    env = environment(**settings)
    config = server.config(prefetch_count=200)
    counts = count(env, config, queue)
    counts.add_sink(RMQSink(config, f"{queue}-out", SimpleStringSchema())).uid("sink")
    return env.execute_async("counts")


def test_counts_by_key_from_queue_to_queue(
    rabbitmq: RabbitMQ,  # noqa: F811
    way: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What the job has had is acknowledged, so the queue is empty when it is cancelled. Half way
    it is stopped with a savepoint, from which it goes on in the other mode."""
    queue, found = f"in-{way}", Counter[str]()

    def have_come(upto: int) -> bool:
        found.update(rabbitmq.take(f"{queue}-out"))
        return found.total() >= upto

    rabbitmq.send(queue, range(300))
    job = begin(rabbitmq, queue)
    wait_until(lambda: have_come(300))
    saved = job.stop_with_savepoint(False, str(tmp_path)).result(120)
    rabbitmq.send(queue, range(300, 500))
    (other,) = {*MODES} - {way}
    monkeypatch.setenv("HEADRACE_STREAM_MODE", other)
    job = begin(rabbitmq, queue, execution_state__recovery_path=saved)
    try:
        wait_until(lambda: have_come(500))
        wait_until(lambda: rabbitmq.unacknowledged(queue) == 0)
    finally:
        job.cancel().result()
    assert found == expected(500)
    assert rabbitmq.waiting(queue) == 0


def test_a_message_that_cannot_be_decoded_stays_where_it_is(
    rabbitmq: RabbitMQ,  # noqa: F811
    way: str,
) -> None:
    queue = f"undecodable-{way}"
    rabbitmq.send(queue, ["no JSON"])
    row = Types.ROW_NAMED(["n"], [Types.LONG()])
    schema = JsonRowDeserializationSchema.builder().type_info(row).build()
    env = environment(restart__strategy_type="none")
    env.add_source(RMQSource(rabbitmq.config(), queue, True, schema)).print()
    with pytest.raises(HeadraceError, match=f"a message of queue '{queue}' cannot") as told:
        env.execute("undecodable")
    assert "no JSON" in str(told.value)
    wait_until(lambda: rabbitmq.waiting(queue) == 1)
