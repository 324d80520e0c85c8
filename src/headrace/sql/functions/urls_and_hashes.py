"""Texts and bytes in other writings: base 64, character sets, URLs, addresses, hashes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.logical_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    INT,
    STRING,
    CharType,
    LogicalType,
    VarCharType,
)
from headrace.operators.functions import hashes, text_codes
from headrace.sql.functions.parameters import BINARY, INTEGER, TEXT
from headrace.sql.functions.row import FunctionRow, example, signature
from headrace.sql.functions.spark_forms import constant_text, where

_URL = "http://u:p@flink.org:80/a/b?k=v#ref"
_SHA2_LENGTHS = ("224", "256", "384", "512")


def _utf8(texts: Sequence[str]) -> bool:
    return (constant_text(texts[1]) or "").upper() in ("UTF-8", "UTF8")


def _digest(
    name: str, digits: int, meaning: Callable[[str | bytes], str], spark: str, empty: str
) -> FunctionRow:
    return FunctionRow(
        names=(name,),
        doc=f"The {name} hash as {digits} hexadecimal digits.",
        signatures=(signature(TEXT), signature(BINARY)),
        result=CharType(digits),
        meaning=meaning,
        spark=spark,
        examples=(example("", gives=empty),),
    )


def _sha2(texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType) -> str | None:
    return f"sha2({texts[0]}, {texts[1]})" if texts[1] in _SHA2_LENGTHS else None


FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("TO_BASE64",),
        doc="In base 64.",
        signatures=(signature(TEXT), signature(BINARY)),
        result=STRING,
        meaning=text_codes.to_base64,
        spark="base64(CAST({0} AS BINARY))",
        examples=(example("hello", gives="aGVsbG8="),),
    ),
    FunctionRow(
        names=("FROM_BASE64",),
        doc="Read from base 64.",
        signatures=(signature(TEXT),),
        result=STRING,
        meaning=text_codes.from_base64,
        examples=(example("aGVsbG8=", gives="hello"),),
    ),
    FunctionRow(
        names=("ASCII",),
        doc="The code of the first character; 0 if there is none.",
        signatures=(signature(TEXT),),
        result=INT,
        meaning=text_codes.ascii_code,
        examples=(example("abc", gives=97), example("", gives=0)),
    ),
    FunctionRow(
        names=("CHR",),
        doc="The character with a code, of which the last byte counts.",
        signatures=(signature(INTEGER),),
        result=STRING,
        nullable=True,
        meaning=text_codes.character,
        spark="chr({0})",
        examples=(example(97, gives="a"), example(353, gives="a")),
    ),
    FunctionRow(
        names=("ENCODE",),
        doc="The bytes of a text in a character set.",
        signatures=(signature(TEXT, TEXT),),
        result=BYTES,
        meaning=text_codes.encode,
        spark=where(_utf8, "encode({0}, {1})"),
        examples=(example("hi", "UTF-16", gives=b"\xfe\xff\x00h\x00i"),),
    ),
    FunctionRow(
        names=("DECODE",),
        doc="The text of bytes in a character set.",
        signatures=(signature(BINARY, TEXT),),
        result=STRING,
        meaning=text_codes.decode,
        examples=(example(b"hi", "UTF-8", gives="hi"),),
    ),
    FunctionRow(
        names=("IS_VALID_UTF8",),
        doc="Whether bytes are a text in UTF-8.",
        signatures=(signature(BINARY),),
        result=BOOLEAN,
        meaning=text_codes.is_valid_utf8,
        examples=(example(b"hi", gives=True), example(b"\xff", gives=False)),
    ),
    FunctionRow(
        names=("MAKE_VALID_UTF8",),
        doc="The text of bytes in UTF-8, with what is none replaced.",
        signatures=(signature(BINARY),),
        result=STRING,
        meaning=text_codes.make_valid_utf8,
        examples=(example(b"hi\xff", gives="hi\ufffd"),),
    ),
    FunctionRow(
        names=("URL_ENCODE",),
        doc="As part of a URL's query.",
        signatures=(signature(TEXT),),
        result=STRING,
        nullable=True,
        meaning=text_codes.url_encode,
        spark="url_encode({0})",
        examples=(example("a b*~é", gives="a+b*%7E%C3%A9"),),
    ),
    FunctionRow(
        names=("URL_DECODE",),
        doc="Read from a URL's query; NULL if that cannot be.",
        signatures=(signature(TEXT),),
        result=STRING,
        nullable=True,
        meaning=text_codes.url_decode,
        spark="try_url_decode({0})",
        examples=(example("a+b%3A", gives="a b:"), example("%zz", gives=None)),
    ),
    FunctionRow(
        names=("PARSE_URL",),
        doc="A part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO; "
        "or the value of a key of its QUERY.",
        signatures=(signature(TEXT, TEXT, optional=(TEXT,)),),
        result=STRING,
        nullable=True,
        meaning=text_codes.parse_url,
        examples=(
            example(_URL, "HOST", gives="flink.org"),
            example(_URL, "QUERY", "k", gives="v"),
        ),
    ),
    FunctionRow(
        names=("INET_ATON",),
        doc="An IPv4 address as a number; NULL if it is none.",
        signatures=(signature(TEXT),),
        result=BIGINT,
        nullable=True,
        meaning=text_codes.inet_aton,
        examples=(example("127.0.0.1", gives=2130706433), example("127.1", gives=2130706433)),
    ),
    FunctionRow(
        names=("INET_NTOA",),
        doc="The IPv4 address of a number; NULL if there is none.",
        signatures=(signature(INTEGER),),
        result=STRING,
        nullable=True,
        meaning=text_codes.inet_ntoa,
        examples=(example(2130706433, gives="127.0.0.1"),),
    ),
    _digest("MD5", 32, hashes.md5, "md5({0})", "d41d8cd98f00b204e9800998ecf8427e"),
    _digest("SHA1", 40, hashes.sha1, "sha1({0})", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    _digest("SHA224", 56, hashes.sha224, "sha2({0}, 224)", hashes.sha224("")),
    _digest("SHA256", 64, hashes.sha256, "sha2({0}, 256)", hashes.sha256("")),
    _digest("SHA384", 96, hashes.sha384, "sha2({0}, 384)", hashes.sha384("")),
    _digest("SHA512", 128, hashes.sha512, "sha2({0}, 512)", hashes.sha512("")),
    FunctionRow(
        names=("SHA2",),
        doc="The SHA-2 hash of 224, 256, 384 or 512 bits as hexadecimal digits.",
        signatures=(signature(TEXT, INTEGER), signature(BINARY, INTEGER)),
        result=VarCharType(128),
        meaning=hashes.sha2,
        spark=_sha2,
        examples=(example("a", 256, gives=hashes.sha256("a")),),
    ),
)
