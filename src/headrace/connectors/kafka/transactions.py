"""In the workers: records of a checkpoint as an open transaction, and kept until it is committed.

A transaction can only be ended by the producer that has begun it. So whoever has prepared one waits
behind a door of its process; the committer beside the driver knocks when the checkpoint is
complete. If nobody opens, it writes what was kept (see `headrace.connectors.kafka.committer`).

The order of the log is that in which records were produced, not that of commits. So a task with
records that are only kept begins no transaction until it has heard that they are committed; and it
tells of each transaction what it had heard when that began, for the committer ends none with a
commit that began too early.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import islice
from multiprocessing import AuthenticationError
from multiprocessing.connection import Listener, answer_challenge, deliver_challenge
from typing import Any

from headrace.connectors.kafka.client import Properties, connected_to, kafka, translate
from headrace.connectors.kafka.kept_records import KeptRecords, kept_of
from headrace.connectors.kafka.producing import RecordProducer, TransactionLost
from headrace.connectors.kafka.records import KafkaProducerRecord, KafkaRecordSerializationSchema
from headrace.core.crash_points import reach
from headrace.core.operator import TaskInfo
from headrace.core.sink import SinkWriter
from headrace.core.user_code import RecordFailure, apply_all

__all__ = [
    "MEMBERS",
    "Prepared",
    "TransactionWriter",
    "Transactions",
    "mark_and_commit",
    "send_at_once",
]

MEMBERS = 3
"""Transactions of one task at a time: one that is written, one that waits for its checkpoint, and
one more. Whoever needs a fourth only keeps its records."""
_AT_ONCE = 4096
_HERE = "127.0.0.1"
_TIMEOUT = "transaction.timeout.ms"
_LONGEST_MS = "900000"
"""What brokers allow unless they are told otherwise."""


@dataclass(frozen=True)
class Prepared:
    """What one task has prepared for a checkpoint."""

    transactional_id: str
    group: str
    """Its offset tells which checkpoint of the transactional id was committed last."""
    topic: str
    checkpoint: int
    kept: str | bytes
    """The records: a file, or what would be in it."""
    door: tuple[str, int, bytes] | None = None
    """Where the open transaction waits; None: there is none."""
    token: str = ""
    after: int = -1
    """Everything up to this checkpoint was committed before the open transaction began."""

    @property
    def task(self) -> str:
        """Whose records come one after the other."""
        return self.transactional_id.rpartition("-")[0]

    @property
    def mark(self) -> Any:
        """The offset that is committed with the transaction."""
        return kafka().TopicPartition(self.topic, 0, self.checkpoint + 1)


class _Door:
    """Where the driver reaches transactions that wait in this process."""

    def __init__(self, driver_host: str) -> None:
        self._key = secrets.token_bytes(32)
        try:
            self._listener = Listener((_own_address(driver_host), 0), "AF_INET", backlog=64)
        except OSError:  # the machine's name is that of another
            self._listener = Listener((_HERE, 0), "AF_INET", backlog=64)
        host, port = self._listener.address
        self.address = host, port, self._key
        self.pid = os.getpid()
        self._waiting: dict[str, Callable[[bool], None]] = {}
        threading.Thread(target=self._answer, daemon=True, name="headrace-kafka-door").start()

    def wait(self, token: str, end: Callable[[bool], None]) -> None:
        """`end` is called with whether to commit, once."""
        self._waiting[token] = end

    def _answer(self) -> None:
        while True:
            with suppress(Exception):  # a stranger, or one that has gone
                connection = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Any) -> None:
        with suppress(EOFError, OSError, AuthenticationError), connection:
            send_at_once(connection)
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            while True:
                token, commit = connection.recv()
                end = self._waiting.pop(token, None)
                done = False
                if end is not None:
                    with suppress(Exception):  # the committer finds out what became of it
                        end(commit)
                        done = True
                connection.send(done)


def send_at_once(connection: Any) -> None:
    """Else a word that follows another of one's own waits 40 ms for that to be acknowledged."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


_DOORS: list[_Door] = []
_MAKING = threading.Lock()


def _door(driver_host: str) -> _Door:
    with _MAKING:
        if not _DOORS or _DOORS[0].pid != os.getpid():
            _DOORS[:] = [_Door(driver_host)]
        return _DOORS[0]


def _own_address(driver_host: str) -> str:
    """Where the driver finds this machine: if it is on the same one, nobody else has to."""
    try:
        if ip_address(socket.gethostbyname(driver_host)).is_loopback:
            return _HERE
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return _HERE


def with_timeout(properties: Properties) -> dict[str, str]:
    """Properties of a producer whose transactions last as long as a broker allows."""
    return {_TIMEOUT: _LONGEST_MS, **properties}


def group_settings(properties: Properties, group: str) -> dict[str, Any]:
    """What a consumer is made with that only knows a group's offsets."""
    of_clients = {
        name: value
        for name, value in translate(properties).items()
        if name.startswith(("bootstrap.", "security.", "sasl.", "ssl.", "logger"))
    }
    return {**of_clients, "group.id": group, "isolation.level": "read_committed"}


def group_metadata(properties: Properties, group: str) -> Any:
    """How a producer names a group to which nobody belongs."""
    with connected_to(properties.get("bootstrap.servers", "")):
        consumer = kafka().Consumer(group_settings(properties, group))
        try:
            return consumer.consumer_group_metadata()
        finally:
            consumer.close()


def mark_and_commit(producer: RecordProducer, prepared: Prepared, metadata: Any) -> None:
    """End a transaction, and say with it which checkpoint it was."""
    _until_done(lambda: producer.client.send_offsets_to_transaction([prepared.mark], metadata))
    _until_done(producer.client.commit_transaction)


def _until_done(do: Callable[[], None]) -> None:
    """A broker that is away for a while is waited for."""
    while True:
        try:
            do()
            return
        except kafka().KafkaException as error:
            if not error.args[0].retriable():
                raise
            time.sleep(0.1)


class _Member:
    """One producer of a task with a transactional id of its own."""

    def __init__(self, properties: Properties, transactional_id: str, group: str):
        self.transactional_id = transactional_id
        self.group = group
        self.after = -1
        """The last checkpoint that was known to be committed when its transaction began."""
        self.metadata = group_metadata(properties, group)
        self.producer = RecordProducer(with_timeout(properties), transactional_id)
        with connected_to(self.producer.servers):
            self.producer.client.init_transactions()


class Transactions:
    """The producers of one task; each is free, or has a transaction that is open."""

    def __init__(self, properties: Properties, prefix: str, task: TaskInfo):
        self._properties = properties
        self._prefix = f"{prefix}-{task.partition}"
        self._output = task.output_id
        self._free: list[_Member] = []
        self._numbers = list(range(MEMBERS))
        """Of members that are not there."""
        self._known = -1
        """The last checkpoint up to which no other process can have had these ids."""
        self._committed = task.batch_id - 1
        """Up to here everything is committed: who makes this is the first to write since then."""
        self._begun = -1
        """The checkpoint of the last transaction."""
        self._written_anew = -1
        """The last checkpoint that the committer has to write."""
        self._lock = threading.Lock()

    def note(self, checkpoint: int) -> None:
        """The task was here when that checkpoint was taken; all up to it is committed."""
        with self._lock:
            self._known = max(self._known, checkpoint)
            self._committed = max(self._committed, checkpoint)

    def keep(self, checkpoint: int) -> None:
        """The records of that checkpoint are only kept."""
        with self._lock:
            self._written_anew = max(self._written_anew, checkpoint)

    def begin(self, checkpoint: int) -> _Member | None:
        """A producer with a new transaction; None if all wait for their checkpoints, or if records
        of an earlier one are still to be written."""
        with self._lock:
            if checkpoint > self._known + 1:
                # Another process may have been this task meanwhile, and these count no more.
                while self._free:
                    self._drop(self._free.pop())
            self._known = max(self._known, checkpoint)
            if self._written_anew > self._committed:
                return None
            if self._free:
                member = self._free.pop()
            elif self._numbers:
                member = self._make(self._numbers.pop(0))
            else:
                return None
            member.after = self._committed
            self._begun = checkpoint
        member.producer.client.begin_transaction()
        return member

    def _make(self, number: int) -> _Member:
        id = f"{self._prefix}-{number}"
        return _Member(self._properties, id, self.group_of(id))

    def group_of(self, transactional_id: str) -> str:
        return f"{transactional_id}-{self._output}"

    @property
    def spare_id(self) -> str:
        """For records that were only kept."""
        return f"{self._prefix}-{MEMBERS}"

    def release(self, member: _Member, *, usable: bool) -> None:
        """Its transaction has ended; or it is lost, and has to be written anew as those that have
        begun since."""
        with self._lock:
            if usable:
                self._free.append(member)
            else:
                self._drop(member)
                self._written_anew = max(self._written_anew, self._begun)

    def _drop(self, member: _Member) -> None:
        self._numbers.append(int(member.transactional_id.rpartition("-")[2]))


class TransactionWriter(SinkWriter[Any]):
    """Writes the records up to one checkpoint."""

    def __init__(
        self, transactions: Transactions, schema: KafkaRecordSerializationSchema, task: TaskInfo
    ):
        self._transactions = transactions
        self._to_records = schema.to_records
        self._checkpoint = task.batch_id
        self._driver_host = task.driver_host
        self._topic: str | None = None
        path = None
        if task.kept_folder:
            name = f"{task.batch_id}-{task.partition}-{uuid.uuid4().hex}"
            path = kept_of(task) / name
        self._kept: KeptRecords | None = KeptRecords(path)
        self._member: _Member | None = None
        self._lost = False

    def write(self, value: Any, timestamp: int | None) -> None:
        self.write_all([value], [timestamp])

    def write_all(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        records = self._to_records(values, timestamps)
        if not records:
            return
        assert self._kept is not None
        if self._member is None:
            self._member = self._transactions.begin(self._checkpoint)
            if self._member is not None and self._topic is not None:
                self._send_kept(self._kept.so_far())
        self._topic = self._topic or records[0].topic
        self._kept.add(records)
        self._send(records)

    def _send_kept(self, records: Iterator[KafkaProducerRecord]) -> None:
        while some := list(islice(records, _AT_ONCE)):
            self._send(some)

    def _send(self, records: list[KafkaProducerRecord]) -> None:
        if self._member is None or self._lost:
            return
        try:
            apply_all(self._member.producer.send, records, "write")
        except RecordFailure as failure:
            if not isinstance(failure.error, TransactionLost):
                raise
            self._lost = True  # what is kept is enough

    def prepare_commit(self) -> list[Any]:
        if self._topic is None or self._kept is None:
            return []
        if self._member is not None and not self._lost:
            try:
                self._member.producer.flush()
            except TransactionLost:
                self._lost = True
        kept, self._kept = self._kept.finish(), None
        member, self._member = self._member, None
        if member is None or self._lost:
            if member is not None:
                self._transactions.release(member, usable=False)
            self._transactions.keep(self._checkpoint)
            id = self._transactions.spare_id
            return [
                Prepared(id, self._transactions.group_of(id), self._topic, self._checkpoint, kept)
            ]
        door, token = _door(self._driver_host), uuid.uuid4().hex
        prepared = Prepared(
            member.transactional_id,
            member.group,
            self._topic,
            self._checkpoint,
            kept,
            door.address,
            token,
            member.after,
        )
        door.wait(token, lambda commit: self._end(member, prepared, commit))
        return [prepared]

    def _end(self, member: _Member, prepared: Prepared, commit: bool) -> None:
        usable = False
        try:
            if commit:
                reach("kafka-commit.before", prepared.checkpoint)
                mark_and_commit(member.producer, prepared, member.metadata)
                reach("kafka-commit.after", prepared.checkpoint)
                usable = True
            else:
                member.producer.client.abort_transaction()  # the committer takes the id over
        finally:
            self._transactions.release(member, usable=usable)

    def close(self) -> None:
        member, self._member = self._member, None
        if member is not None:
            usable = False
            with suppress(Exception):  # whoever begins next ends it
                member.producer.client.abort_transaction(10)
                usable = True
            self._transactions.release(member, usable=usable)
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.discard()
