"""Tables in Kafka: `kafka`, a log of rows, and `upsert-kafka`, the last row of each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from headrace.connectors.delivery import DeliveryGuarantee
from headrace.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.connectors.kafka.partitions import Subscription
from headrace.connectors.kafka.sink import KafkaSink
from headrace.connectors.kafka.source import KafkaSource
from headrace.connectors.kafka.table_rows import (
    PARTITIONERS,
    READABLE,
    WRITABLE,
    RowDecoder,
    RowLayout,
    RowRecords,
)
from headrace.connectors.tables.bad_rows import DeadLetters, GoodRows
from headrace.connectors.tables.message_formats import message_format
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import RowType
from headrace.core.operator import Operator
from headrace.core.source import SplitSpec
from headrace.core.table_connector import (
    APPEND,
    BadRows,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
    TableSource,
)
from headrace.errors import InvalidArgument, Unsupported
from headrace.operators.sinks import WriteOperator

_DISCOVERY_MS = 300_000
_EARLIEST = KafkaOffsetsInitializer.earliest()
_STARTUP = ("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_BOUNDED = ("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets")
_PLACE = re.compile(r"partition:(\d+),offset:(\d+)")
_GUARANTEES = {
    "none": DeliveryGuarantee.NONE,
    "at-least-once": DeliveryGuarantee.AT_LEAST_ONCE,
    "exactly-once": DeliveryGuarantee.EXACTLY_ONCE,
}


_ONLY_READ = (
    "bad-rows",
    "bad-rows.path",
    "scan.bounded.mode",
    "scan.bounded.specific-offsets",
    "scan.bounded.timestamp-millis",
    "scan.topic-partition-discovery.interval",
    "topic-pattern",
)
_WHERE_TO_BEGIN = (
    "scan.startup.mode",
    "scan.startup.specific-offsets",
    "scan.startup.timestamp-millis",
)


class _Writing(NamedTuple):
    partitioner: str
    guarantee: DeliveryGuarantee
    id_prefix: str | None


@dataclass(frozen=True)
class KafkaTableSource(TableSource):
    subscription: Subscription
    layout: RowLayout
    changes: ChangelogMode
    wanted: tuple[str, ...] = ()
    bad: tuple[str, str | None] = ("fail", None)
    makes_watermarks = True

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return self.subscription.bounded

    @property
    def changelog(self) -> ChangelogMode:  # type: ignore[override]
        return self.changes

    def reader(self) -> Any:
        decoder = RowDecoder(self.layout, self.wanted, keeps_bad=self.bad[0] != "fail")
        return SplitSpec(KafkaSource(self.subscription, decoder, None))

    def bad_rows(self, name: str) -> BadRows | None:
        outcome, path = self.bad
        if outcome == "fail":
            return None
        keep = None if path is None else DeadLetters(name, path)
        return BadRows(GoodRows(name, outcome), keep)

    def metadata(self) -> Mapping[str, Any]:
        own = self.layout.value_format.metadata()
        return {**READABLE, **{f"value.{key}": type for key, type in own.items()}}

    def with_metadata(self, keys: tuple[str, ...]) -> TableSource:
        return replace(self, wanted=keys)


@dataclass(frozen=True)
class KafkaTableSink(TableSink):
    sink: KafkaSink
    takes: ChangelogMode

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return APPEND if wanted.insert_only else self.takes

    def operator(self) -> Operator:
        return WriteOperator(self.sink)


@dataclass(frozen=True)
class KafkaConnector(TableConnector):
    """Rows as they are in a topic, one after the other."""

    identifier: str = "kafka"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        given = Options(self.identifier, options)
        layout = self._layout(given, table, row)
        self._writing(given)
        subscription, bad = self._reading(given), _bad_rows(given)
        given.done()
        return KafkaTableSource(subscription, layout, self._changes(table, layout), bad=bad)

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        given = Options(self.identifier, options)
        written, places = _written_metadata(table, row)
        physical = RowType(tuple(row.fields[at] for at in places))
        layout = self._layout(given, table, physical)
        changes = self._changes(table, layout)
        topic = given.required("topic")
        if ";" in topic:
            raise InvalidArgument(
                f"a table that is written has one topic, not '{topic}'",
                hint="Make a table for each topic.",
            )
        writing = self._writing(given)
        given.known(*self._only_read)
        properties = _properties(given)
        given.done()
        records = RowRecords(topic, layout, places, written, writing.partitioner)
        sink = KafkaSink(properties, records, writing.guarantee, writing.id_prefix)
        return KafkaTableSink(sink, changes)

    @property
    def _only_read(self) -> tuple[str, ...]:
        """What a table that is written may say for those who read it."""
        return _ONLY_READ + _WHERE_TO_BEGIN

    def _reading(self, given: Options) -> Subscription:
        starting = _initializer(given, "scan.startup", _STARTUP, "group-offsets")
        return _subscription(given, starting or _EARLIEST)

    def _writing(self, given: Options) -> _Writing:
        partitioner = given.text("sink.partitioner", "default") or "default"
        if partitioner not in PARTITIONERS:
            raise Unsupported(
                f"'sink.partitioner' = '{partitioner}' is a class of Java",
                hint=f"There are: {', '.join(PARTITIONERS)}.",
            )
        chosen = given.choice("sink.delivery-guarantee", tuple(_GUARANTEES), "at-least-once")
        id_prefix = given.text("sink.transactional-id-prefix")
        if chosen == "exactly-once" and not id_prefix:
            raise InvalidArgument(
                "'sink.delivery-guarantee' = 'exactly-once' needs 'sink.transactional-id-prefix'",
                hint="Give each sink of each job a prefix of its own.",
            )
        return _Writing(partitioner, _GUARANTEES[chosen], id_prefix)

    def _changes(self, table: CatalogTable, layout: RowLayout) -> ChangelogMode:
        changes = layout.value_format.changelog
        if changes.insert_only and table.schema.primary_key is not None:
            raise InvalidArgument(
                f"a table of connector 'kafka' with format '{layout.value_format.name}' has no "
                "primary key: it is a log of rows",
                hint="Use the connector 'upsert-kafka', or leave the primary key out.",
            )
        return changes

    def _layout(self, given: Options, table: CatalogTable, row: RowType) -> RowLayout:
        names = list(row.names)
        has_key = given.text("key.format") is not None
        fields = [name for name in (given.text("key.fields") or "").split(";") if name]
        if has_key != bool(fields):
            raise InvalidArgument("'key.format' and 'key.fields' belong together: give both")
        return _make_layout(given, row, tuple(_place(names, field) for field in fields))


@dataclass(frozen=True)
class UpsertKafkaConnector(KafkaConnector):
    """The last row of each key; a record without a value deletes it."""

    identifier: str = "upsert-kafka"

    @property
    def _only_read(self) -> tuple[str, ...]:
        return _ONLY_READ

    def _reading(self, given: Options) -> Subscription:
        return _subscription(given, _EARLIEST)

    def _writing(self, given: Options) -> _Writing:
        given.whole("sink.buffer-flush.max-rows")
        given.duration_ms("sink.buffer-flush.interval")
        return super()._writing(given)

    def _changes(self, table: CatalogTable, layout: RowLayout) -> ChangelogMode:
        if not layout.value_format.changelog.insert_only:
            raise InvalidArgument(
                f"'upsert-kafka' does not take the format '{layout.value_format.name}', which has "
                "changes of its own",
                hint="Use the connector 'kafka' with it, or json, csv, avro, raw or protobuf.",
            )
        return ChangelogMode(
            updates_after=True, deletes=True, key=layout.key_columns, deletes_by_key=True
        )

    def _layout(self, given: Options, table: CatalogTable, row: RowType) -> RowLayout:
        if table.schema.primary_key is None:
            raise InvalidArgument(
                "a table of connector 'upsert-kafka' needs a primary key",
                hint="Add PRIMARY KEY (…) NOT ENFORCED.",
            )
        given.required("key.format")
        given.required("value.format")
        places = tuple(_place(list(row.names), name) for name in table.schema.primary_key)
        return replace(_make_layout(given, row, places), by_key=True)


def _make_layout(given: Options, row: RowType, keys: tuple[int, ...]) -> RowLayout:
    prefix = given.text("key.fields-prefix", "") or ""
    include = given.choice("value.fields-include", ("ALL", "EXCEPT_KEY"), "ALL")
    for at in keys:
        if not row.names[at].startswith(prefix):
            raise InvalidArgument(
                f"the key's column '{row.names[at]}' does not begin with '{prefix}'",
                hint="'key.fields-prefix' is what all columns of the key begin with.",
            )
    if prefix and include == "ALL":
        raise InvalidArgument(
            "'key.fields-prefix' is for columns that are in the key alone",
            hint="Set 'value.fields-include' = 'EXCEPT_KEY'.",
        )
    everything = tuple(range(len(row.fields)))
    values = everything if include == "ALL" else tuple(at for at in everything if at not in keys)
    topic = given.text("topic")
    layout = RowLayout(row, keys, values, None, _NOTHING, prefix)
    value_prefix = "value." if given.text("value.format") is not None else ""
    value = message_format(given, layout.value_row, value_prefix, f"{topic}-value")
    key = message_format(given, layout.key_row, "key.", f"{topic}-key") if keys else None
    return replace(layout, key_format=key, value_format=value)


_NOTHING: Any = None


def _place(names: list[str], field: str) -> int:
    if field not in names:
        raise InvalidArgument(
            f"the key's column '{field}' is no column of the table",
            hint=f"There are: {', '.join(names)}.",
        )
    return names.index(field)


def _written_metadata(table: CatalogTable, row: RowType) -> tuple[dict[str, int], list[int]]:
    """Where metadata stands that is written, by name; and where everything else does."""
    of_metadata = {
        column.field.name: column.metadata
        for column in table.schema.columns
        if column.metadata is not None and not column.virtual
    }
    written = {}
    for at, name in enumerate(row.names):
        key = of_metadata.get(name)
        if key is not None and key not in WRITABLE:
            raise InvalidArgument(
                f"the metadata '{key}' of column '{name}' cannot be written",
                hint="Declare the column VIRTUAL.",
            )
        if key is not None:
            written[key] = at
    places = [at for at in range(len(row.fields)) if at not in written.values()]
    return written, places


def _properties(given: Options) -> dict[str, str]:
    properties = given.starting_with("properties.")
    if "bootstrap.servers" not in properties:
        given.required("properties.bootstrap.servers")
    return properties


def _subscription(given: Options, starting: KafkaOffsetsInitializer) -> Subscription:
    topics = tuple(name.strip() for name in (given.text("topic") or "").split(";") if name.strip())
    pattern = given.text("topic-pattern")
    if bool(topics) == (pattern is not None):
        raise InvalidArgument(
            "a table of Kafka is read from a 'topic' or a 'topic-pattern', and not from both"
        )
    stopping = _initializer(given, "scan.bounded", _BOUNDED, "unbounded")
    pause = given.duration_ms("scan.topic-partition-discovery.interval")
    properties = _properties(given)
    group = properties.get("group.id")
    for each in (starting, stopping):
        if each is not None and each.kind == "committed" and group is None:
            raise InvalidArgument(
                "reading from where a group was needs a group",
                hint="Add 'properties.group.id', or set 'scan.startup.mode' = 'earliest-offset'.",
            )
    if starting.kind == "committed":
        reset = properties.get("auto.offset.reset", "none").upper()
        if reset in KafkaOffsetResetStrategy.__members__:
            starting = replace(starting, reset=KafkaOffsetResetStrategy[reset])
    return Subscription(
        properties,
        topics,
        pattern,
        starting=_with_topic(starting, topics),
        stopping=None if stopping is None else _with_topic(stopping, topics),
        bounded=stopping is not None,
        discovery_ms=_DISCOVERY_MS if pause is None else pause,
    )


def _with_topic(by: KafkaOffsetsInitializer, topics: tuple[str, ...]) -> KafkaOffsetsInitializer:
    """Given offsets name partitions of the only topic."""
    if by.kind != "offsets":
        return by
    if len(topics) != 1:
        raise InvalidArgument("given offsets need a table with one topic")
    places = {KafkaTopicPartition(topics[0], n): at for (_, n), at in by.at.items()}
    return KafkaOffsetsInitializer.offsets(places, by.reset)


def _initializer(
    given: Options, option: str, modes: tuple[str, ...], default: str
) -> KafkaOffsetsInitializer | None:
    mode = given.choice(f"{option}.mode", modes, default)
    stamp = given.whole(f"{option}.timestamp-millis")
    offsets = given.text(f"{option}.specific-offsets")
    match mode:
        case "unbounded":
            return None
        case "earliest-offset":
            return _EARLIEST
        case "latest-offset":
            return KafkaOffsetsInitializer.latest()
        case "group-offsets":
            return KafkaOffsetsInitializer.committed_offsets()
        case "timestamp":
            if stamp is None:
                given.required(f"{option}.timestamp-millis")
            return KafkaOffsetsInitializer.timestamp(stamp or 0)
        case _:
            parts = given.required(f"{option}.specific-offsets").split(";")
            found = [_PLACE.fullmatch(part.strip()) for part in parts if part.strip()]
            if not found or None in found:
                raise InvalidArgument(
                    f"'{option}.specific-offsets' = '{offsets}' is not understood",
                    hint="It is written 'partition:0,offset:42;partition:1,offset:300'.",
                )
            places = {KafkaTopicPartition("", int(m[1])): int(m[2]) for m in found if m}
            return KafkaOffsetsInitializer.offsets(places)


def _bad_rows(given: Options) -> tuple[str, str | None]:
    wanted = given.choice("bad-rows", ("fail", "skip", "dead-letter"), "fail")
    path = given.text("bad-rows.path")
    if (wanted == "dead-letter") != (path is not None):
        raise InvalidArgument("'bad-rows' = 'dead-letter' and 'bad-rows.path' belong together")
    return wanted, path
