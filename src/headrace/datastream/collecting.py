"""Bringing a stream's records to the program that started the job."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.datastream.collected_values import collected
from headrace.errors import JobCancelled
from headrace.graph.nodes import SinkNode
from headrace.operators.sinks import CollectOperator

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.jobs.client import JobClient

_END = object()


class CloseableIterator(Iterator[Any]):
    """Records of a running job, as they come; closing it stops the job."""

    def __init__(self) -> None:
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._buffer: Iterator[Any] = iter(())
        self._client: JobClient | None = None
        self._ended = False

    def put(self, values: list[Any]) -> None:
        self._arrived.put(values)

    def follow(self, client: JobClient) -> None:
        self._client = client
        client.get_job_execution_result().add_done_callback(lambda _: self._arrived.put(_END))

    def __next__(self) -> Any:
        for value in self._buffer:
            return value
        while not self._ended:
            arrived = self._arrived.get()
            if arrived is _END:
                self._ended = True
                self._raise_failure()
            else:
                self._buffer = iter(arrived)
                for value in self._buffer:
                    return value
        raise StopIteration

    def next(self) -> Any:
        return next(self)

    def _raise_failure(self) -> None:
        assert self._client is not None
        error = self._client.get_job_execution_result().exception()
        if error is not None and not isinstance(error, JobCancelled):
            raise error

    def close(self) -> None:
        """Stop the job if it still runs."""
        if self._client is not None and not self._ended:
            self._client.cancel().result()
            self._ended = True
            self._buffer = iter(())

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take(self, limit: int) -> list[Any]:
        """The first records, after which the job is stopped."""
        with self:
            return list(islice(self, limit))


def collect(
    env: StreamExecutionEnvironment, node_id: int, job_name: str | None
) -> CloseableIterator:
    """Run the job that ends in a stream, and iterate over that stream."""
    records = CloseableIterator()
    change = collected(env.builder[node_id].type)
    take = records.put if change is None else lambda values: records.put([*map(change, values)])
    sink = env.builder.add(SinkNode, "Collect", (node_id,), operator=CollectOperator())
    records.follow(env.launch(job_name, {sink: take}))
    return records
