"""avro and avro-confluent: fastavro is the judge, a small server the registry."""

from __future__ import annotations

import io
import json
import math
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.tables.message_formats import message_format
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.errors import InvalidArgument, SourceUnavailable, Unsupported
from headrace.formats.messages.avro_schemas import avro_schema
from headrace.formats.messages.message_format import BadMessage, MessageFormat
from tests.unit.formats.registry_server import Registry

INNER = RowType((Field("x", INT), Field("y", ArrayType(STRING))))
ROW = RowType(
    (
        Field("id", BIGINT.not_null()),
        Field("ok", BOOLEAN),
        Field("name", STRING),
        Field("data", BYTES),
        Field("small", FLOAT),
        Field("ratio", DOUBLE),
        Field("price", DecimalType(20, 3)),
        Field("day", DATE),
        Field("time", TimeType(3)),
        Field("millis", TimestampType(3)),
        Field("micros", TimestampType(6)),
        Field("instant", LocalZonedTimestampType(6)),
        Field("nanos", LocalZonedTimestampType(9)),
        Field("part", INNER),
        Field("counts", MapType(STRING, BIGINT)),
    )
)
WHOLE = st.integers(-(2**63), 2**63 - 1)
SECONDS = st.integers(-60_000_000_000, 250_000_000_000)
VALUES = st.tuples(
    WHOLE,
    st.none() | st.booleans(),
    st.none() | st.text(st.characters(codec="utf-8")),
    st.none() | st.binary(),
    st.none() | st.floats(width=32),
    st.none() | st.floats(),
    st.none() | st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: Decimal(n).scaleb(-3)),
    st.none() | st.integers(-700_000, 2_900_000),
    st.none() | st.integers(0, 86_399_999),
    st.none() | SECONDS.map(lambda s: s * 1_000_000_000 + 7_000_000),
    st.none() | SECONDS.map(lambda s: s * 1_000_000_000 + 7_001_000),
    st.none() | SECONDS.map(lambda s: s * 1_000_000_000 + 999_999_000),
    st.none() | st.integers(-(2**62), 2**62),
    st.none()
    | st.tuples(
        st.none() | st.integers(-5, 5), st.none() | st.lists(st.none() | st.text()).map(tuple)
    ),
    st.none() | st.dictionaries(st.text(), st.none() | WHOLE),
)


def make(name: str = "avro", row: RowType = ROW, **options: str) -> MessageFormat:
    given_options = {f"{name}.{key}": value for key, value in options.items()}
    all_options = Options("test", {"format": name, **given_options})
    made = message_format(all_options, row)
    all_options.done()
    return made


MODERN = {"timestamp_mapping.legacy": "false"}


def same(left: Any, right: Any) -> bool:
    """Equal, where NaN is NaN and 0.0 is not -0.0."""
    return repr(left) == repr(right)


@given(VALUES)
def test_rows_survive_a_message_and_a_file(values):
    for options in (MODERN, {**MODERN, "codec": "null"}):
        made = make(**options)
        message = made.encoder(ROW)((0, *values))
        assert same(made.decoder(ROW)(message), [(0, *values)])
        file = io.BytesIO()
        writer = made.file_writer(ROW, file)
        writer.add_element(values)
        writer.finish()
        file.seek(0)
        assert same(list(made.file_reader(ROW)(file)), [(0, *values)])


@given(VALUES)
def test_fastavro_reads_what_is_written(values):
    schema = avro_schema(ROW.not_null(), legacy=False)
    message = make(**MODERN).encoder(ROW)((0, *values))
    record = fastavro.schemaless_reader(io.BytesIO(message), schema, None)
    assert record["id"] == values[0]
    assert record["name"] == values[2]
    assert record["price"] == values[6]
    assert record["counts"] == values[14]
    ratio = record["ratio"]
    assert (ratio is None) == (values[5] is None)
    assert (
        ratio is None or math.isnan(ratio) or math.copysign(1, ratio) == math.copysign(1, values[5])
    )


def test_the_schema_is_the_one_that_flink_derives():
    row = RowType(
        (Field("a", INT), Field("b", RowType((Field("c", TimestampType(3)),)).not_null()))
    )
    assert avro_schema(row.not_null()) == {
        "type": "record",
        "name": "org.apache.flink.avro.generated.record",
        "fields": [
            {"name": "a", "type": ["null", "int"], "default": None},
            {
                "name": "b",
                "type": {
                    "type": "record",
                    "name": "org.apache.flink.avro.generated.record_b",
                    "fields": [
                        {
                            "name": "c",
                            "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}],
                            "default": None,
                        }
                    ],
                },
            },
        ],
    }


def test_frozen_bytes():
    row = RowType((Field("id", BIGINT.not_null()), Field("name", STRING)))
    encode = make(row=row).encoder(row)
    assert encode((0, 1, "a")) == b"\x02\x02\x02a"
    assert encode((0, -1, None)) == b"\x01\x00"


def test_the_json_encoding():
    row = RowType((Field("id", BIGINT.not_null()), Field("name", STRING)))
    made = make(row=row, encoding="json")
    message = made.encoder(row)((0, 1, "ü"))
    assert json.loads(message) == {"id": 1, "name": {"string": "ü"}}
    assert made.decoder(row)(message) == [(0, 1, "ü")]
    with pytest.raises(BadMessage):
        made.decoder(row)(b"{")


def test_a_file_of_another_writer_is_read_by_name_and_by_its_own_units():
    schema = {
        "type": "record",
        "name": "Theirs",
        "fields": [
            {"name": "extra", "type": "string"},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "n", "type": "int"},
        ],
    }
    file = io.BytesIO()
    fastavro.writer(file, schema, [{"extra": "", "at": 1_500_000, "kind": "B", "n": 3}])
    columns = (("n", BIGINT), ("at", TimestampType(3)), ("kind", STRING), ("gone", INT))
    row = RowType(tuple(Field(*column) for column in columns))
    file.seek(0)
    assert list(make(row=row).file_reader(row)(file)) == [(0, 3, 1_500_000_000, "B", None)]
    strict = RowType((Field("gone", INT.not_null()),))
    file.seek(0)
    with pytest.raises(BadMessage, match="column gone: the writer's schema has no such field"):
        list(make(row=strict).file_reader(strict)(file))
    wrong = RowType((Field("kind", INT),))
    file.seek(0)
    with pytest.raises(BadMessage, match="column kind: 'B' is no INT"):
        list(make(row=wrong).file_reader(wrong)(file))


def test_what_avro_cannot_hold_is_refused_when_the_table_is_made():
    for type, hint in (
        (LocalZonedTimestampType(3), "older mapping"),
        (TimestampType(6), "older mapping"),
        (MapType(INT, INT), "keys of its maps are strings"),
        (TimeType(6), "no form for TIME"),
    ):
        with pytest.raises(Unsupported, match=hint):
            make(row=RowType((Field("a", type),)))
    with pytest.raises(InvalidArgument, match="one of null, deflate"):
        make(codec="rar", row=RowType((Field("a", INT),)))


SMALL = RowType((Field("id", INT), Field("name", STRING)))


def test_messages_that_are_no_records_say_why():
    decode = make(row=SMALL).decoder(SMALL)
    for bad in (b"", b"\x07", b"\x02\x02\x02\xff", b"\x00\x00\x00"):
        with pytest.raises(BadMessage, match="no record of the schema"):
            decode(bad)


def confluent(url: str, row: RowType = SMALL, **options: str) -> MessageFormat:
    return make("avro-confluent", row, url=url, **options)


def test_a_schema_is_registered_once_and_asked_for_once():
    with Registry() as registry:
        made = confluent(registry.url + "/", subject="orders-value")
        encode, decode = made.encoder(SMALL), made.decoder(SMALL)
        messages = [encode((0, n, None)) for n in range(3)]
        assert messages[1] == b"\x00\x00\x00\x00\x01\x02\x02\x00"
        assert [decode(message) for message in messages] == [[(0, n, None)] for n in range(3)]
        assert registry.asked == ["/subjects/orders-value/versions", "/schemas/ids/1"]
        assert json.loads(registry.schemas[0])["name"] == "org.apache.flink.avro.generated.record"


def test_records_of_an_older_schema_are_read():
    with Registry() as registry:
        old = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}
        registry.schemas.append(json.dumps(old))
        assert confluent(registry.url).decoder(SMALL)(b"\x00\x00\x00\x00\x01\x06") == [(0, 3, None)]


def test_bad_messages_and_a_registry_that_refuses():
    with Registry() as registry:
        decode = confluent(registry.url).decoder(SMALL)
        for bad, reason in (
            (b"", "number of a schema"),
            (b"{}{}{}", "number of a schema"),
            (b"\x00\x00\x00\x00\x09", "no schema 9"),
        ):
            with pytest.raises(BadMessage, match=reason):
                decode(bad)
        with pytest.raises(InvalidArgument, match="incompatible"):
            confluent(registry.url, subject="frozen").encoder(SMALL)((0, 1, "a"))
        with pytest.raises(InvalidArgument, match=r"'avro-confluent\.subject'"):
            confluent(registry.url).encoder(SMALL)
    with pytest.raises(SourceUnavailable, match="does not answer"):
        decode(b"\x00\x00\x00\x00\x08")


def test_the_topic_gives_the_subject_unless_one_is_set():
    options = {"value.format": "avro-confluent", "value.avro-confluent.url": "http://127.0.0.1:1"}
    made = message_format(Options("kafka", options), SMALL, "value.", "orders-value")
    assert made.subject == "orders-value"


def test_names_and_passwords_are_sent_and_never_shown():
    with Registry(user="ann:s3cret") as registry:
        options = {"basic-auth.user-info": "ann:s3cret", "subject": "s"}
        made = confluent(registry.url, **options)
        assert made.decoder(SMALL)(made.encoder(SMALL)((0, 1, "a"))) == [(0, 1, "a")]
        in_url = registry.url.replace("//", "//ann:s3cret@")
        other = confluent(in_url, subject="s")
        assert other.encoder(SMALL)((0, 1, "a"))
        assert "s3cret" not in repr(made)
        assert "s3cret" not in repr(other)
        wrong = confluent(registry.url, **{"basic-auth.user-info": "ann:wr0ng", "subject": "s"})
        with pytest.raises(InvalidArgument, match="does not let us in") as refused:
            wrong.encoder(SMALL)((0, 1, "a"))
        assert "wr0ng" not in str(refused.value)
    with pytest.raises(SourceUnavailable) as gone:
        other.decoder(SMALL)(b"\x00\x00\x00\x00\x01\x02")
    assert "s3cret" not in str(gone.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a certificate of its own for 127.0.0.1, in one file."""
    tool = shutil.which("openssl")
    if tool is None:
        pytest.skip("there is no openssl to make a certificate with")
    path = tmp_path_factory.mktemp("tls") / "registry.pem"
    asked = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=registry"]
    name = ["-addext", "subjectAltName=IP:127.0.0.1"]
    key, made = path.with_suffix(".key"), path.with_suffix(".crt")
    files = ["-keyout", str(key), "-out", str(made)]
    subprocess.run([tool, *asked, *name, *files], check=True, capture_output=True)
    path.write_bytes(key.read_bytes() + made.read_bytes())
    return path


def test_a_registry_behind_tls_is_trusted_by_its_certificate(certificate):
    with Registry(certificate=certificate) as registry:
        trusted = {"ssl.truststore.location": str(certificate), "subject": "s"}
        made = confluent(registry.url, **trusted)
        assert made.decoder(SMALL)(made.encoder(SMALL)((0, 1, "a"))) == [(0, 1, "a")]
        with pytest.raises(SourceUnavailable, match="certificate verify failed"):
            confluent(registry.url, subject="s").encoder(SMALL)((0, 1, "a"))


def test_certificates_that_are_not_there_are_named():
    options = {"url": "https://127.0.0.1:1", "ssl.truststore.location": "/nowhere.pem"}
    with pytest.raises(InvalidArgument, match="certificate"):
        make("avro-confluent", SMALL, **options).decoder(SMALL)
    with pytest.raises(InvalidArgument, match="http"):
        confluent("localhost:8081")
