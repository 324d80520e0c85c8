"""The formats of messages, with their options: what 'format' can name for any connector."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headrace.connectors.tables.options import Options
from headrace.core.logical_types import RowType
from headrace.errors import InvalidArgument, Unsupported
from headrace.formats.csv_dialect import CsvDialect
from headrace.formats.messages.avro_formats import AvroMessages, ConfluentMessages
from headrace.formats.messages.avro_schemas import avro_schema
from headrace.formats.messages.change_formats import (
    CanalMessages,
    DebeziumMessages,
    MaxwellMessages,
    OggMessages,
)
from headrace.formats.messages.debezium_avro import DebeziumAvroMessages
from headrace.formats.messages.json_values import JsonStrictness
from headrace.formats.messages.message_format import MessageFormat
from headrace.formats.messages.plain_formats import CsvMessages, JsonMessages, RawMessages
from headrace.formats.messages.protobuf_format import ProtobufMessages
from headrace.formats.messages.schema_registry import RegistryAccess
from headrace.formats.table_texts import JsonForm

__all__ = ["message_format"]

Make = Callable[[Options, RowType], MessageFormat]


def message_format(
    options: Options, row: RowType, prefix: str = "", subject: str | None = None
) -> MessageFormat:
    """The format of the option 'format', or with a prefix such as 'value.' of 'value.format'.

    Its own options begin with the prefix and the format's name: 'value.json.…'. `row` are the
    columns it holds; `subject` is what formats with a schema registry register their schema
    under by default.
    """
    name = options.required(f"{prefix}format")
    make = _FORMATS.get(name)
    if make is None:
        raise InvalidArgument(
            f"there is no format '{name}' for messages",
            hint=f"There are: {', '.join(_FORMATS)}.",
        )
    made = make(options.below(f"{prefix}{name}."), row)
    if isinstance(made, ConfluentMessages) and made.subject is None:
        return replace(made, subject=subject)
    return made


def json_form(own: Options) -> JsonForm:
    """The choices in writing JSON."""
    return JsonForm(
        own.flag("encode.decimal-as-plain-number"),
        own.flag("encode.ignore-null-fields"),
        is_iso(own),
        own.choice("map-null-key.mode", ("FAIL", "DROP", "LITERAL"), "FAIL"),
        own.text("map-null-key.literal", "null") or "",
    )


def is_iso(own: Options) -> bool:
    return own.choice("timestamp-format.standard", ("SQL", "ISO-8601"), "SQL") != "SQL"


def _json(own: Options, row: RowType) -> MessageFormat:
    ignores, required = own.flag("ignore-parse-errors"), own.flag("fail-on-missing-field")
    if ignores and required:
        raise InvalidArgument(
            "'json.fail-on-missing-field' and 'json.ignore-parse-errors' exclude each other"
        )
    own.flag("decode.json-parser.enabled", True)
    return JsonMessages(reading=JsonStrictness(required, ignores), form=json_form(own))


def _csv(own: Options, row: RowType) -> MessageFormat:
    quote = own.character("quote-character", '"')
    dialect = CsvDialect(
        own.character("field-delimiter", ",") or ",",
        None if own.flag("disable-quote-character") else quote,
        own.character("escape-character"),
        own.text("null-literal"),
        own.flag("allow-comments"),
        own.text("array-element-delimiter", ";") or ";",
    )
    own.flag("write-bigdecimal-in-scientific-notation", True)
    return CsvMessages(dialect=dialect, ignores_errors=own.flag("ignore-parse-errors"))


def _raw(own: Options, row: RowType) -> MessageFormat:
    big = own.choice("endianness", ("big-endian", "little-endian"), "big-endian") == "big-endian"
    return RawMessages(charset=own.text("charset", "UTF-8") or "UTF-8", big_endian=big)


def _debezium(own: Options, row: RowType) -> MessageFormat:
    return DebeziumMessages(
        ignores_errors=own.flag("ignore-parse-errors"),
        form=json_form(own),
        with_schema=own.flag("schema-include"),
    )


def _canal(own: Options, row: RowType) -> MessageFormat:
    return CanalMessages(
        ignores_errors=own.flag("ignore-parse-errors"),
        form=json_form(own),
        database=_pattern(own, "database.include"),
        table=_pattern(own, "table.include"),
    )


def _pattern(own: Options, name: str) -> str | None:
    found = own.text(name)
    try:
        re.compile(found or "")
    except re.error as error:
        raise InvalidArgument(f"'canal-json.{name}' = '{found}' is no pattern: {error}") from None
    return found


def _maxwell(own: Options, row: RowType) -> MessageFormat:
    return MaxwellMessages(ignores_errors=own.flag("ignore-parse-errors"), form=json_form(own))


def _ogg(own: Options, row: RowType) -> MessageFormat:
    return OggMessages(ignores_errors=own.flag("ignore-parse-errors"), form=json_form(own))


def _avro(own: Options, row: RowType) -> MessageFormat:
    own.flag("open.fastread")
    made = AvroMessages(
        codec=own.choice("codec", _CODECS, "snappy"),
        legacy=own.flag("timestamp_mapping.legacy", True),
        as_json=own.choice("encoding", ("binary", "json"), "binary") == "json",
    )
    avro_schema(row, legacy=made.legacy)  # a type that Avro does not have fails here
    return made


def _confluent(own: Options, row: RowType) -> MessageFormat:
    return _with_registry(ConfluentMessages, "avro-confluent", own, row)


def _debezium_avro(own: Options, row: RowType) -> MessageFormat:
    return _with_registry(DebeziumAvroMessages, "debezium-avro-confluent", own, row)


def _with_registry(
    kind: type[ConfluentMessages], name: str, own: Options, row: RowType
) -> MessageFormat:
    for auth, known in (("basic", ("USER_INFO", "URL")), ("bearer", ("STATIC_TOKEN",))):
        source = own.text(f"{auth}-auth.credentials-source")
        if source is not None and source not in known:
            raise Unsupported(
                f"'{name}.{auth}-auth.credentials-source' is {' or '.join(known)}, not '{source}'"
            )
    if own.starting_with("properties."):
        raise Unsupported(
            f"'{name}.properties.…' are settings of Java's client, which is not used",
            hint="Use the options of the format.",
        )
    access = RegistryAccess(
        own.required("url"),
        own.text("basic-auth.user-info"),
        own.text("bearer-auth.token"),
        own.text("ssl.truststore.location"),
        own.text("ssl.keystore.location"),
        own.text("ssl.keystore.password"),
    )
    own.text("ssl.truststore.password")
    legacy = own.flag("timestamp_mapping.legacy", True)
    avro_schema(row, legacy=legacy)
    schema = own.text("schema")
    return kind(access, subject=own.text("subject"), schema=schema, legacy=legacy)


def _protobuf(own: Options, row: RowType) -> MessageFormat:
    described = own.text("descriptor-set")
    made = ProtobufMessages(
        own.required("message-class-name"),
        descriptors=None if described is None else _file_bytes(described),
        ignores_errors=own.flag("ignore-parse-errors"),
        read_defaults=own.flag("read-default-values"),
        null_text=own.text("write-null-string-literal", "") or "",
    )
    made.encoder(row)  # a class that is not there, or lacks a column, fails here
    return made


def _file_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidArgument(
            f"'protobuf.descriptor-set' = '{path}' cannot be read: {error.strerror}"
        ) from None


_CODECS = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
_FORMATS: dict[str, Make] = {
    "json": _json,
    "csv": _csv,
    "raw": _raw,
    "avro": _avro,
    "avro-confluent": _confluent,
    "debezium-avro-confluent": _debezium_avro,
    "protobuf": _protobuf,
    "debezium-json": _debezium,
    "canal-json": _canal,
    "maxwell-json": _maxwell,
    "ogg-json": _ogg,
}
