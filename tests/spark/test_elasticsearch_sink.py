"""Documents in OpenSearch: by streams and by tables, and what is said when it cannot be."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.elasticsearch import (
    BulkAction,
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from headrace.errors import HeadraceError
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.testing.servers import OpenSearchServer

STRINGS = Types.MAP(Types.STRING(), Types.STRING())


class Accounts(ElasticsearchEmitter):
    """Documents of accounts, which are deleted when there is nothing left."""

    def emit(self, value: Any) -> Iterable[BulkAction]:
        name, left = value
        if left:
            return [BulkAction("index", "accounts", name, f'{{"left": {left}}}')]
        return [BulkAction("delete", "accounts", name), BulkAction("delete", "accounts", "nobody")]


def builder(server: OpenSearchServer) -> Any:
    return Elasticsearch7SinkBuilder().set_hosts([server.url])


def write_maps(env: StreamExecutionEnvironment, opensearch: OpenSearchServer, mode: str) -> None:
    maps = env.from_collection(
        [{"id": str(n % 50), "name": f"river {n}", "place": f"place-{n % 2}"} for n in range(100)],
        STRINGS,
    )
    maps = maps.key_by(lambda value: value["id"]).map(lambda value: value, STRINGS)
    by_id = builder(opensearch).set_emitter(ElasticsearchEmitter.static_index(f"{mode}-ids", "id"))
    maps.sink_to(
        by_id.set_bulk_flush_max_actions(7)
        .set_bulk_flush_interval(50)
        .set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 5, 100)
        .build()
    )
    dynamic = ElasticsearchEmitter.dynamic_index("place")
    maps.map(lambda value: {**value, "place": f"{mode}-{value['place']}"}, STRINGS).sink_to(
        builder(opensearch).set_emitter(dynamic).set_bulk_flush_max_size_mb(1).build()
    )


def write_rows(env: StreamExecutionEnvironment, opensearch: OpenSearchServer, mode: str) -> None:
    typed = Types.ROW_NAMED(
        ["id", "n", "price", "at", "raw"],
        [
            Types.INT(),
            Types.LONG(),
            Types.BIG_DEC(),
            Types.SQL_TIMESTAMP(),
            Types.PICKLED_BYTE_ARRAY(),
        ],
    )
    moment = datetime.datetime(2024, 2, 29, 12, 30)
    rows = env.from_collection([Row(7, 8, Decimal("1.25"), moment, b"\x00\xff")], typed)
    rows.sink_to(
        builder(opensearch)
        .set_emitter(ElasticsearchEmitter.static_index(f"{mode}-rows", "id"))
        .build()
    )


def test_records_of_streams_become_documents(
    env: StreamExecutionEnvironment, opensearch: OpenSearchServer, mode: str
) -> None:
    write_maps(env, opensearch, mode)
    write_rows(env, opensearch, mode)
    changes = env.from_collection([("ann", 3), ("bob", 4), ("ann", 0), ("bob", 5)]).set_parallelism(
        1
    )
    changes.sink_to(builder(opensearch).set_emitter(Accounts()).build()).set_parallelism(1)
    env.execute("documents")
    found = opensearch.documents(f"{mode}-ids")
    assert {id: document["name"] for id, document in found.items()} == {
        str(n): f"river {n + 50}" for n in range(50)
    }
    for place in (0, 1):
        assert len(opensearch.documents(f"{mode}-place-{place}")) == 50
    assert opensearch.documents(f"{mode}-rows") == {
        "7": {"id": 7, "n": 8, "price": 1.25, "at": "2024-02-29T12:30:00", "raw": "AP8="}
    }
    assert opensearch.documents("accounts") == {"bob": {"left": 5}}


@pytest.fixture
def tables(streaming: None) -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def declare(
    tables: TableEnvironment, server: OpenSearchServer, columns: str, **options: str
) -> None:
    given = {"connector": "elasticsearch-7", "hosts": server.url, **options}
    text = ", ".join(
        f"'{name.replace('__', '-').replace('_', '.')}' = '{value}'"
        for name, value in given.items()
    )
    tables.execute_sql(f"CREATE TABLE documents ({columns}) WITH ({text})")


def test_a_changelog_keeps_documents_up_to_date(
    tables: TableEnvironment, opensearch: OpenSearchServer
) -> None:
    opensearch.request("PUT", "/counts/_doc/b_2?refresh=true", {"note": "from elsewhere"})
    declare(
        tables,
        opensearch,
        "name STRING, part INT, n BIGINT, PRIMARY KEY (name, part) NOT ENFORCED",
        index="counts",
    )
    tables.execute_sql(
        """INSERT INTO documents SELECT name, part, COUNT(*) FROM (VALUES ('a', 1), ('b', 2),
        ('a', 1), ('c', 3), ('a', 1)) AS t (name, part) GROUP BY name, part"""
    ).wait()
    assert opensearch.documents("counts") == {
        "a_1": {"name": "a", "part": 1, "n": 3},
        "b_2": {"name": "b", "part": 2, "n": 1, "note": "from elsewhere"},
        "c_3": {"name": "c", "part": 3, "n": 1},
    }


def test_rows_that_go_and_indices_by_their_values(
    tables: TableEnvironment, opensearch: OpenSearchServer
) -> None:
    tables.execute_sql(
        f"""CREATE TABLE big (name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED)
        WITH ('connector' = 'opensearch-2', 'hosts' = '{opensearch.url}', 'index' = 'large',
        'sink.bulk-flush.max-actions' = '1', 'sink.bulk-flush.backoff.strategy' = 'CONSTANT')"""
    )
    declare(
        tables,
        opensearch,
        "at_ TIMESTAMP(3), name STRING",
        index="days-{at_|yyyy-MM-dd}",
        sink_bulk__flush_max__size="1kb",
        json_timestamp__format_standard="ISO-8601",
    )
    tables.execute_sql(
        f"""CREATE TABLE named (name STRING, n INT) WITH ('connector' = 'opensearch',
        'hosts' = '{opensearch.url}', 'index' = 'of-{{name}}', 'connection.path-prefix' = '/')"""
    )
    statements = tables.create_statement_set()
    statements.add_insert_sql(  # the sum of 'b' is large at first, and then no more
        """INSERT INTO big SELECT name, total FROM (SELECT name, SUM(n) AS total FROM
        (VALUES ('a', 6), ('b', 7), ('b', -7)) AS t (name, n) GROUP BY name) WHERE total > 5"""
    )
    statements.add_insert_sql(
        """INSERT INTO documents VALUES (TIMESTAMP '2024-02-29 12:00:00', 'leap'),
        (TIMESTAMP '2024-03-01 00:00:00', 'spring')"""
    )
    statements.add_insert_sql("INSERT INTO named VALUES ('x', 1), ('y', 2)")
    statements.execute().wait()
    assert opensearch.documents("large") == {"a": {"name": "a", "total": 6}}
    leap = {"at_": "2024-02-29T12:00:00", "name": "leap"}
    assert list(opensearch.documents("days-2024-02-29").values()) == [leap]
    assert len(opensearch.documents("days-2024-03-01")) == 1
    assert list(opensearch.documents("of-y").values()) == [{"name": "y", "n": 2}]


INSERT = "INSERT INTO documents VALUES (1, 'one')"
COUNT = "INSERT INTO documents SELECT COUNT(*), name FROM (VALUES ('a')) AS t (name) GROUP BY name"
KEYED = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
REFUSED: dict[str, tuple[str, str, dict[str, str], str]] = {
    "unknown host": (
        KEYED,
        INSERT,
        {"hosts": "http://no-such-host.invalid:9200"},
        "there is no host 'no-such-host.invalid'",
    ),
    "nobody there": (
        KEYED,
        INSERT,
        {"hosts": "http://127.0.0.1:1", "sink.bulk-flush.backoff.strategy": "DISABLED"},
        "1 documents could not be written to the cluster at http://127.0.0.1:1",
    ),
    "name of an index": (
        KEYED,
        INSERT,
        {"index": "Upper"},
        "document '1' of index 'Upper' cannot be written: Invalid index name [Upper]",
    ),
    "mapping": (
        KEYED,
        INSERT,
        {"index": "numbers"},
        "document '1' of index 'numbers' cannot be written: failed to parse field [name] of type",
    ),
    "no key": ("id BIGINT NOT NULL, name STRING", COUNT, {}, "support consuming update"),
    "no such path": (KEYED, INSERT, {"connection.path-prefix": "a/b"}, "refuses bulk requests"),
    "exactly once": (KEYED, INSERT, {"sink.delivery-guarantee": "exactly-once"}, "no transactions"),
    "handler": (KEYED, INSERT, {"failure-handler": "org.Mine"}, "is a class of Java"),
    "index": (
        KEYED,
        INSERT,
        {"index": "a-{place}"},
        "a column 'place' that the table does not have",
    ),
    "format of no date": (
        KEYED,
        INSERT,
        {"index": "a-{name|yyyy}"},
        "a format of dates for column 'name'",
    ),
    "key of bytes": (
        "id BYTES, name STRING, PRIMARY KEY (id) NOT ENFORCED",
        INSERT,
        {},
        "cannot be in the id of a document",
    ),
    "address": (KEYED, INSERT, {"hosts": "ftp://a"}, "'ftp://a' is no address of a host"),
    "option": (KEYED, INSERT, {"idnex": "a"}, "Did you mean 'index'?"),
    "csv": (KEYED, INSERT, {"format": "csv"}, "documents are JSON"),
    "TLS": (KEYED, INSERT, {}, "cannot be spoken with by TLS"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said(
    tables: TableEnvironment, opensearch: OpenSearchServer, name: str
) -> None:
    columns, statement, options, message = REFUSED[name]
    if name == "mapping":
        mapping = {"mappings": {"properties": {"name": {"type": "long"}}}}
        opensearch.request("PUT", "/numbers", mapping)
    secret = {"username": "ann", "password": "s3cret"}
    scheme = "https" if name == "TLS" else "http"
    hosts = opensearch.url.replace("http", scheme)
    given = {"hosts": hosts, "index": "refused", **secret, **options}
    text = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    tables.execute_sql(
        f"CREATE TABLE documents ({columns}) WITH ('connector' = 'elasticsearch-7', {text})"
    )
    with pytest.raises(HeadraceError) as caught:
        tables.execute_sql(statement).wait()
    assert message in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_what_the_cluster_refuses_can_be_left_out(
    tables: TableEnvironment, opensearch: OpenSearchServer
) -> None:
    mapping = {"mappings": {"properties": {"name": {"type": "long"}}}}
    opensearch.request("PUT", "/some", mapping)
    declare(tables, opensearch, KEYED, index="some", failure__handler="ignore")
    tables.execute_sql("INSERT INTO documents VALUES (1, 'one'), (2, '2')").wait()
    assert list(opensearch.documents("some")) == ["2"]


def test_a_builder_says_what_is_missing() -> None:
    with pytest.raises(HeadraceError, match=r"Call set_emitter"):
        Elasticsearch7SinkBuilder().set_hosts(["localhost:9200"]).build()
    with pytest.raises(HeadraceError, match="there is no EXACTLY_ONCE"):
        Elasticsearch7SinkBuilder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(HeadraceError, match="Use Elasticsearch7SinkBuilder"):
        Elasticsearch6SinkBuilder()
    with pytest.raises(HeadraceError, match="-1 for no limit, not 0"):
        Elasticsearch7SinkBuilder().set_bulk_flush_max_actions(0)
