"""Options of tables: what is known, what is refused, and connectors of one's own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.connectors.tables import (
    connector_names,
    find_connector,
    register_connector,
)
from headrace.connectors.tables.datagen import GeneratedSource
from headrace.connectors.tables.rows import RowsSource
from headrace.core.logical_types import (
    BIGINT,
    DATE,
    INT,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    RowType,
    TimestampType,
    VarCharType,
)
from headrace.core.table_connector import (
    APPEND,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSchema,
    TableSource,
)
from headrace.errors import HeadraceError, InvalidArgument, Unsupported
from headrace.table.table_environment import TableEnvironment

ROW = RowType((Field("a", INT), Field("b", STRING)))
TABLE = CatalogTable(TableSchema(()))
FILES = {"connector": "filesystem", "path": "/data", "format": "csv"}
LOG = {
    "connector": "kafka",
    "topic": "t",
    "format": "json",
    "properties.bootstrap.servers": "127.0.0.1:1",
    "scan.startup.mode": "earliest-offset",
}
KEYED = {
    "connector": "upsert-kafka",
    "topic": "t",
    "key.format": "json",
    "value.format": "json",
    "properties.bootstrap.servers": "127.0.0.1:1",
}
TABLE_WITH_KEY = CatalogTable(TableSchema((), primary_key=("a",)))


def source(options: Mapping[str, str], row: RowType = ROW) -> TableSource:
    return find_connector(options["connector"]).source(TABLE, row, options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**FILES, "pth": "x"}, "Did you mean 'path'"),
        ({**FILES, "csv.null-litral": "x"}, "Did you mean 'csv.null-literal'"),
        ({**FILES, "json.ignore-parse-errors": "true"}, "has no option"),
        ({**FILES, "csv.field-delimiter": "ab"}, "is one character"),
        ({**FILES, "csv.ignore-parse-errors": "maybe"}, "is true or false"),
        ({**FILES, "source.monitor-interval": "soon"}, "is a duration"),
        ({"connector": "filesystem", "format": "csv"}, "needs the option 'path'"),
        ({**FILES, "format": "xml"}, "There are: csv, json, raw, parquet, orc"),
        ({**FILES, "bad-rows": "ignore"}, "one of fail, skip, dead-letter"),
        ({**FILES, "bad-rows": "dead-letter"}, "'bad-rows.path'"),
        ({**FILES, "bad-rows.path": "/x"}, "only for 'bad-rows' = 'dead-letter'"),
        (
            {**FILES, "bad-rows": "skip", "csv.ignore-parse-errors": "true"},
            "exclude each other",
        ),
        (
            {**FILES, "bad-rows": "skip", "csv.multi-line": "true"},
            "cannot be had together",
        ),
        (
            {"connector": "datagen", "row-per-second": "1"},
            "Did you mean 'rows-per-second'",
        ),
        ({**FILES, "sink.rolling-policy.size": "1MB"}, "'sink.rolling-policy.file-size'"),
        ({**LOG, "sink.semantic": "exactly-once"}, "has no option 'sink.semantic'"),
        ({**LOG, "sink.partitioner": "org.acme.ByRegion"}, "is a class of Java"),
        ({**LOG, "scan.startup.mod": "latest-offset"}, "Did you mean 'scan.startup.mode'"),
        ({"connector": "datagen", "number-of-rows": "x"}, "is a whole number"),
        (
            {"connector": "datagen", "fields.a.kind": "sequence"},
            "needs the option 'fields.a.start'",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(HeadraceError) as refused:
        source(options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**LOG, "sink.delivery-guarante": "exactly-once"}, "mean 'sink.delivery-guarantee'"),
        ({**LOG, "sink.transaction-naming-strategy": "POOLING"}, "has no option"),
        ({**LOG, "sink.delivery-guarantee": "exactly-once"}, "'sink.transactional-id-prefix'"),
        ({**LOG, "scan.startup.mod": "latest-offset"}, "Did you mean 'scan.startup.mode'"),
        ({**LOG, "bad-row": "skip"}, "Did you mean 'bad-rows'"),
        ({**LOG, "sink.partitioner": "org.acme.ByRegion"}, "is a class of Java"),
        ({**KEYED, "sink.delivery-guarante": "none"}, "mean 'sink.delivery-guarantee'"),
        ({**KEYED, "scan.startup.mode": "latest-offset"}, "has no option 'scan.startup.mode'"),
        ({**KEYED, "sink.buffer-flush.max-rows": "many"}, "is a whole number"),
        ({**FILES, "sink.rolling-policy.size": "1MB"}, "'sink.rolling-policy.file-size'"),
    ],
)
def test_wrong_options_of_what_is_written_are_refused(
    options: dict[str, str], message: str
) -> None:
    table = TABLE_WITH_KEY if options["connector"] == "upsert-kafka" else TABLE
    with pytest.raises(HeadraceError) as refused:
        find_connector(options["connector"]).sink(table, ROW, options)
    assert message in str(refused.value)


def test_one_table_of_kafka_may_be_read_and_written() -> None:
    log = {
        **LOG,
        "bad-rows": "skip",
        "scan.bounded.mode": "latest-offset",
        "sink.delivery-guarantee": "exactly-once",
        "sink.parallelism": "2",
        "sink.partitioner": "fixed",
        "sink.transactional-id-prefix": "p",
    }
    assert source(log).bounded
    find_connector("kafka").sink(TABLE, ROW, log)
    keyed = {**KEYED, "sink.buffer-flush.max-rows": "5", "sink.buffer-flush.interval": "1 s"}
    assert not find_connector("upsert-kafka").source(TABLE_WITH_KEY, ROW, keyed).bounded
    find_connector("upsert-kafka").sink(TABLE_WITH_KEY, ROW, keyed)


def test_tables_of_databases_are_shared_by_columns_of_numbers() -> None:
    shared = {
        "connector": "jdbc",
        "url": "jdbc:postgresql://127.0.0.1:1/d",
        "table-name": "t",
        "scan.partition.column": "day",
        "scan.partition.num": "2",
        "scan.partition.lower-bound": "1",
        "scan.partition.upper-bound": "9",
    }
    row = RowType((Field("a", INT), Field("day", DATE)))
    with pytest.raises(Unsupported, match=r"'scan.partition.column' = 'day' is of type DATE"):
        source(shared, row)
    source({**shared, "scan.partition.column": "a"}, row)


DOCUMENTS = {"connector": "elasticsearch-7", "hosts": "http://127.0.0.1:1"}
CHANGES = ChangelogMode(updates_after=True, deletes=True, key=(0,))


def test_documents_in_an_index_of_the_clock_are_only_added() -> None:
    for now in ("NOW()", "now( )", "CURRENT_TIMESTAMP", "now()"):
        options = {**DOCUMENTS, "index": f"log-{{{now}|yyyy}}", "sink.flush-on-checkpoint": "true"}
        sink = find_connector("elasticsearch-7").sink(TABLE_WITH_KEY, ROW, options)
        assert sink.accepts(APPEND) == APPEND
        with pytest.raises(InvalidArgument, match="the index depends on the clock"):
            sink.accepts(CHANGES)
    by_column = {**DOCUMENTS, "index": "log-{b}"}
    find_connector("elasticsearch-7").sink(TABLE_WITH_KEY, ROW, by_column).accepts(CHANGES)


@pytest.mark.parametrize(
    "option",
    [
        {"sink.partition-commit.policy.kind": "success-file"},
        {"auto-compaction": "true"},
    ],
)
def test_what_sinks_cannot_do_is_said(option: dict[str, str]) -> None:
    options = {**FILES, **option}
    with pytest.raises(Unsupported):
        find_connector("filesystem").sink(TABLE, ROW, options)
    assert source(options).bounded


def test_options_of_reading_and_writing_may_stand_together() -> None:
    options = {**FILES, "sink.rolling-policy.file-size": "1MB", "source.monitor-interval": "1 s",
               "csv.ignore-parse-errors": "true", "sink.parallelism": "2"}  # fmt: skip
    assert not source(options).bounded
    find_connector("filesystem").sink(TABLE, ROW, options)


def test_csv_has_no_maps() -> None:
    row = RowType((Field("a", INT), Field("m", ArrayType(INT))))
    source(FILES, row)
    with pytest.raises(Unsupported, match="one column"):
        source({**FILES, "format": "raw"}, row)


def test_unknown_connectors_are_refused_with_the_closest() -> None:
    with pytest.raises(InvalidArgument) as refused:
        find_connector("filesytem")
    assert "Did you mean 'filesystem'" in str(refused.value)


def test_print_and_blackhole_cannot_be_read() -> None:
    for name in ("print", "blackhole"):
        with pytest.raises(Unsupported, match="can only be written"):
            source({"connector": name})
    with pytest.raises(Unsupported, match="can only be read"):
        find_connector("datagen").sink(TABLE, ROW, {"connector": "datagen"})


@dataclass(frozen=True)
class Numbers(TableConnector):
    """Rows 0, 1, … of one column."""

    identifier: str = "numbers"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        count = int(options["count"])
        return RowsSource(tuple((0, n) for n in range(count)), row.types, row.names)


def test_a_connector_of_ones_own_is_registered_in_one_place() -> None:
    register_connector(Numbers())
    assert "numbers" in connector_names()
    env = TableEnvironment.create()
    env.execute_sql("CREATE TABLE n (a BIGINT) WITH ('connector' = 'numbers', 'count' = '3')")
    relation = env._session.query_text("SELECT a FROM n")
    assert relation.names == ("a",)
    with pytest.raises(InvalidArgument, match="is no TableConnector"):
        register_connector(Numbers)  # type: ignore[arg-type]


def made(fields: list[tuple[str, Any]], **options: str) -> list[tuple[Any, ...]]:
    row = RowType(tuple(Field(name, type) for name, type in fields))
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    found = source({"connector": "datagen", "random-seed": "1", **given}, row)
    assert isinstance(found, GeneratedSource)
    return [found.row(number)[1:] for number in range(found.rows or 50)]


def test_sequences_end_the_table() -> None:
    values = made([("n", BIGINT)], fields__n__kind="sequence", fields__n__start="5",
                  fields__n__end="7", number_of_rows="10")  # fmt: skip
    assert values == [(5,), (6,), (7,)]


def test_random_values_keep_to_their_bounds() -> None:
    values = made([("n", INT), ("d", DecimalType(5, 2))], fields__n__min="3", fields__n__max="6",
                  fields__d__min="0", fields__d__max="1")  # fmt: skip
    assert {n for n, _ in values} == {3, 4, 5, 6}
    assert all(0 <= d <= 1 for _, d in values)


def test_lengths_are_those_of_the_options_or_the_type() -> None:
    fields: list[tuple[str, Any]] = [
        ("s", STRING),
        ("v", VarCharType(7)),
        ("a", ArrayType(INT)),
    ]
    assert {(len(s), len(v), len(a)) for s, v, a in made(fields)} == {(100, 7, 3)}
    assert {(len(s), len(a)) for s, _, a in made(fields, fields__s__length="2",
                                                 fields__a__length="5")} == {(2, 5)}  # fmt: skip
    varied = made(fields, fields__s__length="4", fields__s__var_len="true")
    assert {len(s) for s, _, _ in varied} == {1, 2, 3, 4}


def test_some_values_are_null() -> None:
    values = made([("n", INT), ("t", TimestampType(3))], fields__n__null_rate="0.5")
    assert 5 < sum(n is None for n, _ in values) < 45
    assert all(t is not None for _, t in values)


def test_the_same_seed_makes_the_same_rows() -> None:
    random.seed()
    assert made([("n", BIGINT)]) == made([("n", BIGINT)])
