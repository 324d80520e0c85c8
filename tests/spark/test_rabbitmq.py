"""Queues of RabbitMQ as sources and sinks: a real server, whole jobs, both ways to run a stream."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.common import SimpleStringSchema
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.rabbitmq import RMQSink
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


def test_counts_by_key_from_queue_to_queue(
    env: StreamExecutionEnvironment,
    rabbitmq: RabbitMQ,  # noqa: F811
    way: str,
) -> None:
    """What the job has had is acknowledged, so the queue is empty when it is cancelled."""
    queue, output = f"in-{way}", f"out-{way}"
    rabbitmq.send(queue, range(500))
    env.enable_checkpointing(100)
    config = rabbitmq.config(prefetch_count=200)
    counts = count(env, config, queue)
    counts.add_sink(RMQSink(config, output, SimpleStringSchema()))
    job: Any = env.execute_async("counts")
    found: Counter[str] = Counter()

    def are_all_there() -> bool:
        found.update(rabbitmq.take(output))
        return found.total() >= 500

    try:
        wait_until(are_all_there)
        wait_until(lambda: rabbitmq.unacknowledged(queue) == 0)
    finally:
        job.cancel().result()
    assert found == expected(500)
    assert rabbitmq.waiting(queue) == 0
