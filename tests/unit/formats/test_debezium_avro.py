"""debezium-avro-confluent: fastavro is the judge, a small server the registry."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from headrace.connectors.tables.message_formats import message_format
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import BIGINT, STRING, Field, RowType, TimestampType
from headrace.core.table_connector import DELETE, INSERT, RETRACT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.errors import InvalidArgument, Unsupported
from headrace.formats.messages.message_format import BadMessage, MessageFormat
from tests.unit.formats.registry_server import Registry

ROW = RowType((Field("id", BIGINT.not_null()), Field("name", STRING)))
VALUE = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"], "default": None},
    ],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.users",
    "fields": [
        {"name": "before", "type": ["null", VALUE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [{"name": "db", "type": "string"}],
            },
        },
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
    ],
}
"""As Debezium's converter registers it: names once described are used again."""


def make(url: str = "http://127.0.0.1:1", row: RowType = ROW, **options: str) -> MessageFormat:
    name = "debezium-avro-confluent"
    given = {f"{name}.{key}": value for key, value in {"url": url, **options}.items()}
    all_options = Options("test", {"format": name, **given})
    made = message_format(all_options, row)
    all_options.done()
    return made


def event(op: str, before: Any, after: Any) -> bytes:
    file = io.BytesIO()
    record = {"before": before, "after": after, "op": op, "ts_ms": 7, "source": {"db": "shop"}}
    fastavro.schemaless_writer(file, fastavro.parse_schema(ENVELOPE), record)
    return b"\x00\x00\x00\x00\x01" + file.getvalue()


ANN, BEA = {"id": 1, "name": "ann"}, {"id": 1, "name": "bea"}


@pytest.mark.parametrize(
    ("op", "before", "after", "changes"),
    [
        ("c", None, ANN, [(INSERT, 1, "ann")]),
        ("r", None, ANN, [(INSERT, 1, "ann")]),
        ("u", ANN, BEA, [(UPDATE_BEFORE, 1, "ann"), (UPDATE_AFTER, 1, "bea")]),
        ("d", ANN, None, [(DELETE, 1, "ann")]),
    ],
)
def test_events_of_debezium_are_read(op: str, before: Any, after: Any, changes: Any) -> None:
    with Registry() as registry:
        registry.schemas.append(json.dumps(ENVELOPE))
        decode = make(registry.url).decoder(ROW)
        assert decode(event(op, before, after)) == changes
        assert decode(b"") == []


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (event("u", None, BEA), "REPLICA IDENTITY FULL"),
        (event("d", None, None), "REPLICA IDENTITY FULL"),
        (event("c", None, None), '"after" is null'),
        (event("x", None, ANN), "not one of c, r, u and d"),
        (b"{}{}{}", "number of a schema"),
        (event("c", None, ANN)[:-3], "no record of the schema"),
    ],
)
def test_bad_events_say_why(message: bytes, reason: str) -> None:
    with Registry() as registry:
        registry.schemas.append(json.dumps(ENVELOPE))
        with pytest.raises(BadMessage, match=reason):
            make(registry.url).decoder(ROW)(message)


def test_changes_are_written_as_flink_writes_them() -> None:
    with Registry() as registry:
        made = make(registry.url, subject="users-value")
        assert made.changelog == RETRACT
        encode = made.encoder(ROW)
        kinds = (INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE)
        messages = [encode((kind, 1, "a")) for kind in kinds]
        row, head = b"\x02\x02\x02\x02a", b"\x00\x00\x00\x00\x01\x02"
        added, removed = head + b"\x00" + row + b"\x02\x02c", head + row + b"\x00\x02\x02d"
        assert messages == [added, removed, added, removed]
        null, record = json.loads(registry.schemas[0])
        assert null == "null"
        assert record["name"] == "org.apache.flink.avro.generated.record"
        before, after, op = record["fields"]
        assert before["type"][1]["name"] == "org.apache.flink.avro.generated.record_before"
        assert after["type"][1]["name"] == "org.apache.flink.avro.generated.record_after"
        assert op == {"name": "op", "type": ["null", "string"], "default": None}
        assert registry.asked == ["/subjects/users-value/versions"]
        assert [made.decoder(ROW)(each)[0][0] for each in messages] == [INSERT, DELETE] * 2


def test_a_schema_that_is_given_is_written_by() -> None:
    with Registry() as registry:
        source = ENVELOPE["fields"][2] | {"default": {"db": "none"}}  # type: ignore[index]
        own = {**ENVELOPE, "fields": [*ENVELOPE["fields"][:2], source, ENVELOPE["fields"][3]]}
        made = make(registry.url, subject="s", schema=json.dumps(own))
        assert made.decoder(ROW)(made.encoder(ROW)((INSERT, 1, "a"))) == [(INSERT, 1, "a")]
    with pytest.raises(InvalidArgument, match="no field before, after, op"):
        make(subject="s", schema=json.dumps(VALUE)).encoder(ROW)


def test_the_topic_gives_the_subject_and_a_table_without_one_cannot_be_written() -> None:
    name = "debezium-avro-confluent"
    options = {"value.format": name, f"value.{name}.url": "http://127.0.0.1:1"}
    made = message_format(Options("kafka", options), ROW, "value.", "users-value")
    assert made.subject == "users-value"  # type: ignore[attr-defined]
    with pytest.raises(InvalidArgument, match=r"'debezium-avro-confluent\.subject'"):
        make().encoder(ROW)


def test_options_are_those_of_avro_with_a_registry() -> None:
    with Registry(user="ann:s3cret") as registry:
        login = {
            "basic-auth.credentials-source": "USER_INFO",
            "basic-auth.user-info": "ann:s3cret",
            "subject": "s",
        }
        made = make(registry.url, **login)
        assert made.decoder(ROW)(made.encoder(ROW)((DELETE, 1, None))) == [(DELETE, 1, None)]
        assert "s3cret" not in repr(made)
    with pytest.raises(Unsupported, match=r"debezium-avro-confluent\.bearer-auth"):
        make(**{"bearer-auth.credentials-source": "SASL"})
    micros = RowType((Field("at", TimestampType(6)),))
    with pytest.raises(Unsupported, match="older mapping"):
        make(row=micros)
    assert make(row=micros, **{"timestamp_mapping.legacy": "false"}).encoder
