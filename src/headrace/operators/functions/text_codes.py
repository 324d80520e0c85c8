"""Texts and bytes in other writings: base 64, character sets, URLs, addresses."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from urllib.parse import quote_plus

_URL = re.compile(
    r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*):"
    r"(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<ref>.*))?",
    re.DOTALL,
)
_PROTOCOLS = {"http", "https", "ftp", "file", "jar", "mailto"}
_PERCENT = re.compile("(?:%[0-9a-fA-F]{2})+")


def to_base64(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str) -> str:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode(
            errors="replace"
        )
    except binascii.Error:
        raise ValueError(f"{text!r} is no text in base 64") from None


def ascii_code(text: str) -> int:
    """Of the first byte, as a signed number."""
    data = text[:1].encode()
    return 0 if not data else data[0] - 256 if data[0] > 127 else data[0]


def character(code: int) -> str:
    return "" if code < 0 else chr(code & 0xFF)


def encode(text: str, charset: str) -> bytes:
    name = _charset(charset)
    return (
        codecs.BOM_UTF16_BE + text.encode("utf-16-be")
        if name == "utf-16"
        else (text.encode(name, "replace"))
    )


def decode(data: bytes, charset: str) -> str:
    name = _charset(charset)
    if name == "utf-16" and not data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)):
        name = "utf-16-be"
    return data.decode(name, "replace")


def _charset(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise ValueError(f"{name!r} is no character set that is known") from None


def is_valid_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def make_valid_utf8(data: bytes) -> str:
    return data.decode(errors="replace")


def url_encode(text: str) -> str:
    """As HTML forms are sent."""
    return quote_plus(text, safe="*").replace("~", "%7E")


def url_decode(text: str) -> str | None:
    """NULL if a % is followed by something else than two hexadecimal digits."""
    if "%" in _PERCENT.sub("", text):
        return None
    return _PERCENT.sub(
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"),
        text.replace("+", " "),
    )


def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """The part that is named, or the value of a key of the query; NULL if there is none."""
    found = _URL.fullmatch(url.strip())
    if found is None or found["protocol"].lower() not in _PROTOCOLS:
        return None
    if key is not None:
        if part != "QUERY" or found["query"] is None:
            return None
        value = re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", found["query"])
        return None if value is None else value[1]
    return _url_part(found, part)


def _url_part(found: re.Match[str], part: str) -> str | None:
    authority, query = found["authority"], found["query"]
    user, _at, address = (authority or "").rpartition("@")
    if part == "HOST":
        host, bracket, _port = address.partition("]")
        return host + bracket if bracket else address.partition(":")[0]
    if part == "USERINFO":
        return user if _at else None
    if part == "FILE":
        return str(found["path"]) + ("" if query is None else f"?{query}")
    known = ("PROTOCOL", "AUTHORITY", "PATH", "QUERY", "REF")
    return found[part.lower()] if part in known else None


def inet_aton(address: str) -> int | None:
    """Fewer than four parts are allowed; the last of them is the last byte."""
    parts = address.split(".")
    if len(parts) > 4 or not all(re.fullmatch("[0-9]{1,9}", part) for part in parts):
        return None
    numbers = [int(part) for part in parts]
    if max(numbers) > 255:
        return None
    numbers[-1:-1] = [0] * (4 - len(numbers))
    return int.from_bytes(bytes(numbers), "big")


def inet_ntoa(number: int) -> str | None:
    if not 0 <= number < 2**32:
        return None
    return ".".join(map(str, number.to_bytes(4, "big")))
