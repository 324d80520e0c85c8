"""Beside the driver: ends what tasks have prepared, and clears away what dead ones have left.

What became of a transaction is never guessed. Its last offset in a group of its own, written within
the transaction itself, is the checkpoint it was for: who takes a transactional id over, which ends
or aborts what is open, can read there whether that checkpoint was committed.

Who has begun last is written down in Kafka, too: before it looks at what others have left, a driver
notes its name and then takes all their ids over. So a driver that was asleep meanwhile commits
nothing any more: neither its tasks can, nor itself.

What is written anew comes behind all that tasks have written by then. A transaction of the same
task that may have begun before is therefore never committed, but written anew, too.
"""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

from headrace.connectors.kafka.client import (
    LastError,
    Properties,
    answer_timeout,
    ask_patiently,
    connected_to,
    kafka,
)
from headrace.connectors.kafka.kept_records import forget_kept, kept_of, read_kept
from headrace.connectors.kafka.producing import RecordProducer, TransactionLost
from headrace.connectors.kafka.transactions import (
    MEMBERS,
    Prepared,
    group_metadata,
    group_settings,
    mark_and_commit,
    send_at_once,
    with_timeout,
)
from headrace.core.crash_points import reach
from headrace.core.operator import TaskInfo
from headrace.core.sink import Committer
from headrace.errors import JobFailed

__all__ = ["TransactionCommitter"]

_AT_ONCE = 8
_PATIENCE_S = 30.0
_NOTES = "__consumer_offsets"
"""A topic that every Kafka has which knows groups: stands for the place of a group's note. In place
of the topic that is written to, jobs with one prefix and two topics would not see each other."""


class TransactionCommitter(Committer[Prepared]):
    """Commits through the tasks that hold the transactions; if they are gone, writes anew."""

    def __init__(self, properties: Properties, prefix: str):
        self._properties = properties
        self._servers = properties.get("bootstrap.servers", "")
        self._prefix = prefix
        self._name = uuid.uuid4().hex
        self._left: list[str] = []
        """Transactional ids that anybody may have used."""
        self._cleared = False
        """Whether nobody can have used them since they were taken over."""
        self._written_anew: dict[str, int] = {}
        """By task: the last checkpoint that was written here since the tasks began."""
        self._kept: Path | None = None

    def open(self, task: TaskInfo) -> None:
        if task.kept_folder:
            self._kept = kept_of(task)
        before = self._claim(task.parallelism)
        self._left = self._ids(before)
        self._take_all_over()
        self._left = self._ids(max(before, task.parallelism))

    def _ids(self, tasks: int) -> list[str]:
        numbers = range(MEMBERS + 1)
        return [f"{self._prefix}-{task}-{number}" for task in range(tasks) for number in numbers]

    def _take_all_over(self) -> None:
        self._do_all(self._take_over, self._left)
        self._cleared = True

    def commit(self, committables: list[Prepared]) -> None:
        self._do_in_order(self._commit, committables)

    def recover(self, committables: list[Prepared]) -> None:
        self._do_in_order(self._write_anew, committables)

    def abort(self, committables: list[Prepared]) -> None:
        for prepared in committables:
            forget_kept(prepared.kept)

    def recovered(self) -> None:
        if not self._cleared:
            self._take_all_over()
        self._cleared = False  # writers begin
        self._written_anew.clear()
        if self._kept is not None and self._kept.is_dir():
            for file in self._kept.iterdir():
                file.unlink(missing_ok=True)

    def _do_in_order(self, do: Callable[[Prepared], None], committables: list[Prepared]) -> None:
        """What one task has prepared, one after the other; tasks beside each other."""
        by_task: dict[str, list[Prepared]] = {}
        for prepared in sorted(committables, key=lambda each: each.checkpoint):
            by_task.setdefault(prepared.task, []).append(prepared)

        def do_each(those: list[Prepared]) -> None:
            for prepared in those:
                do(prepared)

        self._do_all(do_each, list(by_task.values()))

    def _do_all(self, do: Callable[[Any], Any], items: list[Any]) -> None:
        if len(items) < 2:
            for item in items:
                do(item)
            return
        with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
            list(pool.map(do, items))

    # One transaction.

    def _commit(self, prepared: Prepared) -> None:
        in_order = prepared.after >= self._written_anew.get(prepared.task, -1)
        if _knock(prepared, commit=in_order) and in_order:
            forget_kept(prepared.kept)
        else:
            self._write_anew(prepared)

    def _write_anew(self, prepared: Prepared) -> None:
        """Commit what was kept, unless it is committed."""
        producer = self._take_over(prepared.transactional_id)
        self._require_own()
        if self._offset(prepared.group, prepared.mark).offset < prepared.mark.offset:
            metadata = group_metadata(self._properties, prepared.group)
            self._written_anew[prepared.task] = prepared.checkpoint
            try:
                self._write_and_commit(producer, prepared, metadata)
            except TransactionLost as lost:
                self._require_own()
                raise JobFailed(
                    f"a transaction of {prepared.transactional_id} was ended before it was "
                    f"committed: {lost}",
                    hint="Nothing is lost: its records are kept, and written when the job goes on.",
                ) from None
        forget_kept(prepared.kept)

    def _write_and_commit(self, producer: RecordProducer, prepared: Prepared, group: Any) -> None:
        with connected_to(self._servers):
            producer.client.begin_transaction()
            for record in read_kept(prepared.kept):
                producer.send(record)
            producer.flush()
            reach("kafka-anew.before", prepared.checkpoint)
            mark_and_commit(producer, prepared, group)
            reach("kafka-anew.after", prepared.checkpoint)

    def _take_over(self, transactional_id: str) -> RecordProducer:
        """From here on nobody else can write under that id; what was open is aborted."""
        producer = RecordProducer(with_timeout(self._properties), transactional_id)
        with connected_to(self._servers):
            producer.client.init_transactions()
        return producer

    # What is written down of the sink: who writes last, and how many tasks there ever were.

    def _claim(self, tasks: int) -> int:
        """Say who commits from now on; how many tasks there were at most before."""
        before = max(0, int(self._read_note().offset))
        note = kafka().TopicPartition(_NOTES, 0, max(before, tasks), self._name)
        with self._group(self._note_group) as consumer:
            # A Kafka that has never heard of groups makes that topic first.
            ask_patiently(lambda: consumer.commit(offsets=[note], asynchronous=False), _PATIENCE_S)
        return before

    @property
    def _note_group(self) -> str:
        return f"{self._prefix}-tasks"

    def _read_note(self) -> Any:
        return self._offset(self._note_group, kafka().TopicPartition(_NOTES, 0))

    def _require_own(self) -> None:
        if self._read_note().metadata != self._name:
            raise self._superseded()

    def _superseded(self) -> JobFailed:
        return JobFailed(
            f"another job has begun to write with the transactional id prefix {self._prefix!r}, "
            "and this one no longer counts",
            hint="If it is the same job that was started once more, nothing is lost. Otherwise "
            "give each sink a prefix of its own.",
        )

    def _offset(self, group: str, place: Any) -> Any:
        with self._group(group) as consumer:
            timeout = answer_timeout(self._properties)
            return ask_patiently(lambda: consumer.committed([place], timeout=timeout), _PATIENCE_S)[
                0
            ]

    @contextmanager
    def _group(self, name: str) -> Iterator[Any]:
        heard = LastError()  # which of all reasons not to answer it is
        settings = {**group_settings(self._properties, name), "error_cb": heard}
        with connected_to(self._servers, heard), closing(kafka().Consumer(settings)) as consumer:
            heard.client = consumer
            try:
                yield consumer
            except kafka().KafkaException:
                heard.ask()  # while it is open
                raise
            finally:
                heard.client = None

    def close(self) -> None:
        if self._kept is not None:
            with suppress(OSError):  # it is not empty, or was never there
                self._kept.rmdir()
                self._kept.parent.rmdir()


def _knock(prepared: Prepared, *, commit: bool) -> bool:
    """Let the task that holds the transaction commit it or give it up; False: nobody knows what
    became of it."""
    if prepared.door is None:
        return False
    host, port, key = prepared.door
    try:
        socket.create_connection((host, port), timeout=5).close()
        with Client((host, port), "AF_INET", authkey=key) as line:
            send_at_once(line)
            line.send((prepared.token, commit))
            return line.poll(_PATIENCE_S) and bool(line.recv())
    except (OSError, EOFError, AuthenticationError):
        return False
