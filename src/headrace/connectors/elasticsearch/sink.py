"""Writing the records of a stream as documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from headrace.connectors.argument_checks import require_instance, require_whole
from headrace.connectors.delivery import DeliveryGuarantee
from headrace.connectors.elasticsearch.backoff import Backoff, FlushBackoffType
from headrace.connectors.elasticsearch.bulk import BulkAction, BulkWriter, OnFailure
from headrace.connectors.elasticsearch.cluster import Access, Cluster, parse_host
from headrace.connectors.elasticsearch.emitters import ElasticsearchEmitter
from headrace.connectors.waiting_records import WaitingRecords
from headrace.core.functions import RuntimeContext
from headrace.core.operator import TaskInfo
from headrace.core.sink import Sink, SinkWriter
from headrace.errors import InvalidArgument, Unsupported
from headrace.origin import calling_origin

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
]

_MEGABYTE = 1024 * 1024
Emit = Callable[[Any], Iterable[BulkAction]]


@dataclass(frozen=True)
class Flushing:
    """When documents are written, and how often that is tried."""

    most: int | None = 1000
    heaviest: int | None = None
    """In bytes."""
    interval_ms: int | None = None
    backoff: Backoff = field(default_factory=Backoff)
    on_failure: OnFailure = OnFailure.FAIL


class ElasticsearchSink(Sink[Any]):
    """Writes documents, many at a time; at a checkpoint all before it are written."""

    def __init__(self, access: Access, emit: Emit, flushing: Flushing):
        self.access = access
        self.emit = emit
        self.flushing = flushing

    def get_transformer(self) -> None:
        """Nothing is done to a stream before this sink."""

    def open(self, runtime_context: RuntimeContext) -> None:
        flushing = self.flushing
        self._cluster = Cluster(self.access)
        writer = BulkWriter(self._cluster, flushing.backoff, flushing.on_failure)
        self._waiting = WaitingRecords(
            writer.write,
            most=flushing.most,
            interval_ms=flushing.interval_ms,
            weigh=lambda action: action.size,
            heaviest=flushing.heaviest,
        )

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        return _Writer(self._waiting, self.emit)

    def close(self) -> None:
        if hasattr(self, "_cluster"):
            self._waiting.close()
            self._cluster.close()


class _Writer(SinkWriter[Any]):
    def __init__(self, waiting: WaitingRecords, emit: Emit):
        self._waiting = waiting
        self._emit = emit

    def write(self, value: Any, timestamp: int | None) -> None:
        for action in self._emit(value):
            self._waiting.add(action)

    def prepare_commit(self) -> list[Any]:
        self._waiting.flush()
        return []

    def close(self) -> None:
        self._waiting.forget()  # of a checkpoint that failed: they come again


class ElasticsearchSinkBuilderBase:
    """Settings of a sink; `set_hosts` and `set_emitter` are what must be there."""

    def __init__(self) -> None:
        self._access = Access(())
        self._flushing = Flushing()
        self._emitter: ElasticsearchEmitter | None = None

    def set_hosts(self, hosts: Sequence[str]) -> ElasticsearchSinkBuilderBase:
        """Where the cluster is: addresses such as 'http://host:9200'."""
        if isinstance(hosts, str):
            hosts = [hosts]
        if not hosts:
            raise InvalidArgument("set_hosts needs a host", origin=calling_origin())
        return self._reach(hosts=tuple(map(parse_host, hosts)))

    def set_emitter(self, emitter: ElasticsearchEmitter) -> ElasticsearchSinkBuilderBase:
        """What is done for each record."""
        self._emitter = require_instance(
            emitter,
            ElasticsearchEmitter,  # type: ignore[type-abstract]
            "set_emitter",
            hint="ElasticsearchEmitter.static_index('…', 'id')",
        )
        return self

    def set_delivery_guarantee(
        self, delivery_guarantee: DeliveryGuarantee
    ) -> ElasticsearchSinkBuilderBase:
        """At least once, which with ids is as good as once."""
        require_instance(delivery_guarantee, DeliveryGuarantee, "set_delivery_guarantee")
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise Unsupported(
                "a cluster of Elasticsearch or OpenSearch has no transactions: there is no "
                "EXACTLY_ONCE",
                origin=calling_origin(),
                hint="Write at least once, with an id for each document: what comes again "
                "replaces itself.",
            )
        return self

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> ElasticsearchSinkBuilderBase:
        """How many documents are written together; -1: as many as a checkpoint has."""
        return self._flush(most=_limit(num_max_actions, "the number of actions"))

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> ElasticsearchSinkBuilderBase:
        """How many megabytes are written together; -1: any number."""
        size = _limit(max_size_mb, "the size in megabytes")
        return self._flush(heaviest=None if size is None else size * _MEGABYTE)

    def set_bulk_flush_interval(self, interval_millis: int) -> ElasticsearchSinkBuilderBase:
        """After how long at the latest documents are written; -1: not because of the time."""
        return self._flush(interval_ms=_limit(interval_millis, "the interval in milliseconds"))

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> ElasticsearchSinkBuilderBase:
        """How often documents are written again that were not taken, and after how long."""
        kind = require_instance(flush_backoff_type, FlushBackoffType, "the backoff strategy")
        given = kind is not FlushBackoffType.NONE
        retries, delay = (
            _limit(number, what) if given else None
            for number, what in (
                (max_retries, "the number of retries"),
                (delay_millis, "the delay in milliseconds"),
            )
        )
        return self._flush(backoff=Backoff(kind, retries or 0, delay or 0))

    def set_connection_username(self, username: str) -> ElasticsearchSinkBuilderBase:
        return self._reach(username=require_instance(username, str, "set_connection_username"))

    def set_connection_password(self, password: str) -> ElasticsearchSinkBuilderBase:
        if not isinstance(password, str):  # whatever it is, it is not shown
            raise InvalidArgument("the password is a text", origin=calling_origin())
        return self._reach(password=password)

    def set_connection_path_prefix(self, prefix: str) -> ElasticsearchSinkBuilderBase:
        """What paths begin with, behind a proxy."""
        return self._reach(path_prefix=require_instance(prefix, str, "set_connection_path_prefix"))

    def set_connection_request_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Without a meaning: a connection is never waited for, each subtask has its own."""
        require_whole(timeout, "the timeout in milliseconds")
        return self

    def set_connection_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """For how many milliseconds a connection may take to be made."""
        return self._reach(connect_s=_seconds(timeout))

    def set_socket_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """For how many milliseconds an answer may take."""
        return self._reach(answer_s=_seconds(timeout))

    def get_http_host_class(self) -> NoReturn:
        """Flink's client is a class of Java."""
        raise Unsupported(
            "there is no class of Java behind the addresses of hosts",
            origin=calling_origin(),
            hint="Give set_hosts texts such as 'http://host:9200'.",
        )

    def build(self) -> ElasticsearchSink:
        """The sink; what is missing is said here."""
        for missing, call in (
            (not self._access.hosts, "set_hosts(['http://host:9200'])"),
            (self._emitter is None, "set_emitter(ElasticsearchEmitter.static_index('…', 'id'))"),
        ):
            if missing:
                raise InvalidArgument(
                    "the sink does not know where or what to write",
                    origin=calling_origin(),
                    hint=f"Call {call}.",
                )
        assert self._emitter is not None
        return ElasticsearchSink(self._access, self._emitter.emit, self._flushing)

    def _reach(self, **settings: Any) -> ElasticsearchSinkBuilderBase:
        self._access = replace(self._access, **settings)
        return self

    def _flush(self, **settings: Any) -> ElasticsearchSinkBuilderBase:
        self._flushing = replace(self._flushing, **settings)
        return self


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """For Elasticsearch from 7 on, and OpenSearch."""


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """Refused: no such server is looked after by anybody any more."""

    def __init__(self) -> None:
        raise Unsupported(
            "Elasticsearch 6 is not written to",
            origin=calling_origin(),
            hint="Use Elasticsearch7SinkBuilder, with Elasticsearch from 7 on or OpenSearch.",
        )


def _limit(number: int, what: str) -> int | None:
    """A number above 0; -1 stands for none."""
    if require_whole(number, what) == -1:
        return None
    if number < 1:
        raise InvalidArgument(
            f"{what} is 1 or more, or -1 for no limit, not {number}", origin=calling_origin()
        )
    return number


def _seconds(timeout: int) -> float:
    if require_whole(timeout, "the timeout in milliseconds") < 1:
        raise InvalidArgument(
            f"the timeout in milliseconds is above 0, not {timeout}", origin=calling_origin()
        )
    return timeout / 1000
