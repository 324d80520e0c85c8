"""debezium-json, canal-json, maxwell-json and ogg-json: what messages say, and how it is said."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from headrace.connectors.tables.message_formats import message_format
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import BIGINT, STRING, DecimalType, Field, RowType
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.errors import InvalidArgument
from headrace.formats.messages.message_format import BadMessage, MessageFormat

ROW = RowType(
    (
        Field("id", BIGINT),
        Field("name", STRING),
        Field("description", STRING),
        Field("weight", DecimalType(10, 2)),
    )
)
SCOOTER = {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.15}
AFTER = (111, "scooter", "Big 2-wheel scooter", Decimal("5.15"))
BEFORE = (*AFTER[:3], Decimal("5.18"))
NAMES = ["debezium-json", "canal-json", "maxwell-json", "ogg-json"]


def make(name: str, **options: str) -> MessageFormat:
    given = {f"{name}.{key.replace('_', '-')}": value for key, value in options.items()}
    all_options = Options("test", {"format": name, **given})
    made = message_format(all_options, ROW)
    all_options.done()
    return made


def decode(name: str, message: Any, *metadata: str, **options: str) -> list[Any]:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return make(name, **options).decoder(ROW, metadata)(data)


UPDATE = [(UPDATE_BEFORE, *BEFORE), (UPDATE_AFTER, *AFTER)]
DEBEZIUM = {
    "before": {**SCOOTER, "weight": 5.18},
    "after": SCOOTER,
    "source": {"db": "inventory", "table": "products", "schema": "s", "ts_ms": 7, "snapshot": None},
    "op": "u",
    "ts_ms": 1589362330904,
    "transaction": None,
}


def test_an_update_of_debezium_is_two_changes_with_metadata():
    keys = (
        "ingestion-timestamp",
        "source.timestamp",
        "source.database",
        "source.schema",
        "source.table",
        "source.properties",
        "schema",
    )
    properties = {"db": "inventory", "table": "products", "schema": "s", "ts_ms": "7"}
    extra = (1589362330904000000, 7000000, "inventory", "s", "products")
    found = decode("debezium-json", DEBEZIUM, *keys)
    assert found == [(*part, *extra, {**properties, "snapshot": None}, None) for part in UPDATE]


@pytest.mark.parametrize(("op", "kind"), [("c", INSERT), ("r", INSERT), ("d", DELETE)])
def test_other_operations_of_debezium(op, kind):
    sides = {"before": SCOOTER, "after": None} if op == "d" else {"after": SCOOTER}
    assert decode("debezium-json", {"op": op, **sides}) == [(kind, *AFTER)]


def test_debezium_with_its_schema():
    message = {"schema": {"type": "struct"}, "payload": DEBEZIUM}
    assert decode("debezium-json", message, "schema", schema_include="true") == [
        (*part, '{"type":"struct"}') for part in UPDATE
    ]
    with pytest.raises(BadMessage, match="payload"):
        decode("debezium-json", DEBEZIUM, schema_include="true")


def test_an_update_whose_old_row_is_not_told_names_the_setting():
    with pytest.raises(BadMessage, match="REPLICA IDENTITY FULL"):
        decode("debezium-json", {**DEBEZIUM, "before": None})


CANAL = {
    "data": [{k: str(v) for k, v in SCOOTER.items()}],
    "old": [{"weight": "5.18"}],
    "database": "inventory",
    "table": "products",
    "type": "UPDATE",
    "es": 1589373560000,
    "ts": 1589373560798,
    "pkNames": ["id"],
    "sqlType": {"id": 4, "weight": 7},
    "isDdl": False,
}


def test_canal_tells_only_what_was_changed():
    keys = ("database", "table", "sql-type", "pk-names", "ingestion-timestamp", "event-timestamp")
    extra = ("inventory", "products", {"id": 4, "weight": 7}, ("id",))
    moments = (1589373560798000000, 1589373560000000000)
    assert decode("canal-json", CANAL, *keys) == [(*part, *extra, *moments) for part in UPDATE]


def test_canal_lists_many_rows_and_a_field_that_was_null_stays_so():
    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert decode("canal-json", {"type": "INSERT", "data": rows}) == [
        (INSERT, 1, "a", None, None),
        (INSERT, 2, "b", None, None),
    ]
    update = {"type": "UPDATE", "data": rows[:1], "old": [{"name": None}]}
    assert decode("canal-json", update)[0] == (UPDATE_BEFORE, 1, None, None, None)
    assert decode("canal-json", {"type": "CREATE", "data": None}) == []


def test_canal_passes_over_other_tables():
    assert decode("canal-json", CANAL, **{"database.include": "shop"}) == []
    with pytest.raises(InvalidArgument, match="no pattern"):
        make("canal-json", **{"table.include": "("})
    assert len(decode("canal-json", CANAL, **{"table.include": "prod.*"})) == 2
    assert decode("canal-json", CANAL, **{"table.include": "prod"}) == []


MAXWELL = {
    "database": "test",
    "table": "product",
    "type": "update",
    "ts": 1596684904,
    "data": SCOOTER,
    "old": {"weight": 5.18},
    "primary_key_columns": ["id"],
}


def test_maxwell_counts_seconds():
    keys = ("database", "table", "primary-key-columns", "ingestion-timestamp")
    extra = ("test", "product", ("id",), 1596684904 * 10**9)
    assert decode("maxwell-json", MAXWELL, *keys) == [(*part, *extra) for part in UPDATE]
    assert decode("maxwell-json", {"type": "delete", "data": SCOOTER}) == [(DELETE, *AFTER)]


OGG = {
    "before": {**SCOOTER, "weight": 5.18},
    "after": SCOOTER,
    "op_type": "U",
    "op_ts": "2020-05-13 15:40:06.000000",
    "current_ts": "2020-05-13 15:40:07.000000",
    "primary_keys": ["id"],
    "table": "PRODUCTS",
}


def test_ogg_and_a_table_that_was_emptied():
    keys = ("table", "primary-keys", "event-timestamp", "ingestion-timestamp")
    extra = ("PRODUCTS", ("id",), 1589384406 * 10**9, 1589384407 * 10**9)
    assert decode("ogg-json", OGG, *keys) == [(*part, *extra) for part in UPDATE]
    iso = {**OGG, "current_ts": "2020-05-13T15:40:07.123456Z", "op_ts": 5}
    assert decode("ogg-json", iso, *keys[2:])[0][-2:] == (None, 1589384407123456000)
    assert decode("ogg-json", {"op_type": "T", "table": "PRODUCTS"}) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_tombstone_says_nothing_and_bad_messages_say_why(name):
    assert decode(name, b"") == []
    for bad, reason in ((b"{", "no JSON"), (b"[1]", "no JSON object"), (b"{}", "is null, not one")):
        with pytest.raises(BadMessage, match=reason):
            decode(name, bad)
        assert decode(name, bad, ignore_parse_errors="true") == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_read_and_an_update_is_a_deletion_and_an_insertion(name):
    made = make(name)
    encode, read = made.encoder(ROW), made.decoder(ROW)
    values = (1, "wide ✈ 漢", None, Decimal("-0.10"))
    expected = {INSERT: INSERT, UPDATE_BEFORE: DELETE, UPDATE_AFTER: INSERT, DELETE: DELETE}
    for written, found in expected.items():
        assert read(encode((written, *values))) == [(found, *values)]


def test_the_bytes_that_are_written():
    row, change = RowType((Field("a", BIGINT),)), (DELETE, 1)
    texts = {name: make(name).encoder(row)(change).decode() for name in NAMES}
    assert texts == {
        "debezium-json": '{"before":{"a":1},"after":null,"op":"d"}',
        "canal-json": '{"data":[{"a":1}],"type":"DELETE"}',
        "maxwell-json": '{"data":{"a":1},"type":"delete"}',
        "ogg-json": '{"before":{"a":1},"after":null,"op_type":"D"}',
    }


def test_an_unknown_format_and_an_unknown_option_are_named():
    with pytest.raises(InvalidArgument, match="no format 'debezium'"):
        make("debezium")
    with pytest.raises(InvalidArgument, match=r"no option 'ogg-json\.schema-include'"):
        make("ogg-json", schema_include="true")
