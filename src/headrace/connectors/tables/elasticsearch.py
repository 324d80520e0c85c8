"""Tables of documents: `elasticsearch-7`, `opensearch` and `opensearch-2`, which are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.connectors.elasticsearch.backoff import Backoff, FlushBackoffType
from headrace.connectors.elasticsearch.bulk import OnFailure
from headrace.connectors.elasticsearch.cluster import Access, parse_host
from headrace.connectors.elasticsearch.sink import ElasticsearchSink, Flushing
from headrace.connectors.elasticsearch.table_rows import RowActions, check_key, parse_index
from headrace.connectors.tables.message_formats import message_format
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import RowType
from headrace.core.table_connector import (
    APPEND,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
)
from headrace.errors import InvalidArgument, Unsupported
from headrace.operators.sinks import WriteOperator

_BULK, _BACKOFF = "sink.bulk-flush.", "sink.bulk-flush.backoff."
_STRATEGIES = {
    "DISABLED": FlushBackoffType.NONE,
    "NONE": FlushBackoffType.NONE,
    "CONSTANT": FlushBackoffType.CONSTANT,
    "EXPONENTIAL": FlushBackoffType.EXPONENTIAL,
}


@dataclass(frozen=True)
class ElasticsearchTableSink(TableSink):
    sink: ElasticsearchSink
    has_key: bool
    by_the_clock: bool

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        if not self.has_key or wanted.insert_only:
            return APPEND
        if self.by_the_clock:
            raise InvalidArgument(
                "the index depends on the clock, and the query updates or deletes rows: they would "
                "not be found again in an index of another time",
                hint="Name the index by a column, or write a query that only adds rows.",
            )
        return ChangelogMode(updates_after=True, deletes=True, key=wanted.key, deletes_by_key=True)

    def operator(self) -> WriteOperator:
        return WriteOperator(self.sink)


@dataclass(frozen=True)
class ElasticsearchConnector(TableConnector):
    """Rows are documents; with a primary key it is their id."""

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        given = Options(self.identifier, {"format": "json", **options})
        access = _access(given)
        flushing = _flushing(given)
        key = table.schema.primary_key or ()
        check_key(row, key)
        index = parse_index(given.required("index"), row)
        format = message_format(given, row)
        if format.name not in ("json", "raw"):
            raise InvalidArgument(
                f"documents are JSON, which the format '{format.name}' does not write",
                hint="Leave 'format' out, or set it to 'json'.",
            )
        delimiter = given.text("document-id.key-delimiter", "_") or ""
        given.done()
        places = tuple(row.names.index(name) for name in key)
        actions = RowActions(row, places, index, format, delimiter)
        sink = ElasticsearchSink(access, actions, flushing)
        return ElasticsearchTableSink(sink, bool(key), index.by_the_clock)


def _access(given: Options) -> Access:
    hosts = tuple(parse_host(host) for host in given.required("hosts").split(";") if host.strip())
    user, password = given.text("username"), given.text("password")
    if password is not None and user is None:
        raise InvalidArgument("the table has a 'password' and no 'username'")
    given.duration_ms("connection.request-timeout")  # no connection is ever waited for
    connect, answer = given.duration_ms("connection.timeout"), given.duration_ms("socket.timeout")
    standard = Access(hosts)
    return Access(
        hosts,
        user,
        password,
        given.text("connection.path-prefix", "") or "",
        standard.connect_s if connect is None else connect / 1000,
        standard.answer_s if answer is None else answer / 1000,
        not given.flag("allow-insecure"),
    )


def _flushing(given: Options) -> Flushing:
    given.flag("sink.flush-on-checkpoint", True)  # DeliveryGuarantee.NONE is no less careful
    guarantee = given.choice(
        "sink.delivery-guarantee", ("at-least-once", "none", "exactly-once"), "at-least-once"
    )
    if guarantee == "exactly-once":
        raise Unsupported(
            "'sink.delivery-guarantee' = 'exactly-once': such a cluster has no transactions",
            hint="Declare a PRIMARY KEY and write at least once: what comes again replaces itself.",
        )
    handler = given.text("failure-handler", "fail") or ""
    if handler not in [each.value for each in OnFailure]:
        raise Unsupported(
            f"'failure-handler' = '{handler}' is a class of Java",
            hint="There are: fail, ignore, retry-rejected.",
        )
    interval = given.duration_ms(f"{_BULK}interval")
    return Flushing(
        given.whole(f"{_BULK}max-actions", 1000) or None,
        given.size_bytes(f"{_BULK}max-size", 2 * 1024 * 1024) or None,
        1000 if interval is None else interval,
        _backoff(given),
        OnFailure(handler),
    )


def _backoff(given: Options) -> Backoff:
    strategy = given.text(f"{_BACKOFF}strategy")
    retries = given.whole(f"{_BACKOFF}max-retries", 8) or 0
    delay = given.duration_ms(f"{_BACKOFF}delay")
    if strategy is None:
        return Backoff()
    chosen = given.choice(f"{_BACKOFF}strategy", tuple(_STRATEGIES), strategy)
    return Backoff(_STRATEGIES[chosen], retries, 50 if delay is None else delay)
