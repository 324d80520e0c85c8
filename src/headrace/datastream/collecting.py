"""Bringing a stream's records to the program that started the job."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from headrace.datastream.collected_values import collected
from headrace.errors import JobCancelled
from headrace.graph.nodes import SinkNode
from headrace.operators.sinks import CollectOperator

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.jobs.client import JobClient
    from headrace.jobs.results import Collector

_END = object()
_MOST = 100_000
"""Records that wait to be taken, beyond which a stream reads no more until half of them are."""


class CloseableIterator(Iterator[Any]):
    """Records of a running job, as they come; closing it stops the job."""

    def __init__(self) -> None:
        self._arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._buffer: Iterator[Any] = iter(())
        self._client: JobClient | None = None
        self._ended = False
        self._first: Future[None] = Future()
        """There is a record, or will be none."""
        # What has come is written by the job's thread alone, what was taken by the program's.
        self.came = 0
        """How many records have come."""
        self._taken = 0
        self._holds = False

    def wait(self, timeout: float | None = None) -> None:
        """Wait until there is a record, or will be none; raises TimeoutError, or why the job has
        failed."""
        self._first.result(timeout)
        if not self.came:
            self._raise_failure()

    def put(self, values: list[Any]) -> None:
        self.came += len(values)
        self._arrived.put(values)
        if values:
            self._note_first()

    def _note_first(self) -> None:
        with suppress(InvalidStateError):  # it was not the first
            self._first.set_result(None)

    @property
    def is_full(self) -> bool:
        waiting = self.came - self._taken
        self._holds = waiting > (_MOST // 2 if self._holds else _MOST)
        return self._holds

    def follow(self, client: JobClient) -> None:
        self._client = client
        client.get_job_execution_result().add_done_callback(self._end)

    def _end(self, _: object) -> None:
        self._arrived.put(_END)
        self._note_first()

    def __next__(self) -> Any:
        for value in self._buffer:
            return value
        while not self._ended:
            arrived = self._arrived.get()
            if arrived is _END:
                self._ended = True
                self._raise_failure()
            else:
                self._taken += len(arrived)
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


@dataclass(frozen=True)
class Changed:
    """Takes records for somebody who is to see them in another form."""

    collector: Collector
    change: Callable[[Any], Any]

    def put(self, values: list[Any]) -> None:
        self.collector.put([*map(self.change, values)])

    @property
    def is_full(self) -> bool:
        return self.collector.is_full


def collect(
    env: StreamExecutionEnvironment, node_id: int, job_name: str | None
) -> CloseableIterator:
    """Run the job that ends in a stream, and iterate over that stream."""
    records = CloseableIterator()
    change = collected(env.builder[node_id].type)
    takes: Collector = records if change is None else Changed(records, change)
    sink = env.builder.add(SinkNode, "Collect", (node_id,), operator=CollectOperator())
    records.follow(env.launch(job_name, {sink: takes}))
    return records
