"""Hashes of texts, as hexadecimal digits."""

from __future__ import annotations

import hashlib

_LENGTHS = {224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def md5(text: str | bytes) -> str:
    return hashlib.md5(_bytes(text), usedforsecurity=False).hexdigest()


def sha1(text: str | bytes) -> str:
    return hashlib.sha1(_bytes(text), usedforsecurity=False).hexdigest()


def sha224(text: str | bytes) -> str:
    return hashlib.sha224(_bytes(text)).hexdigest()


def sha256(text: str | bytes) -> str:
    return hashlib.sha256(_bytes(text)).hexdigest()


def sha384(text: str | bytes) -> str:
    return hashlib.sha384(_bytes(text)).hexdigest()


def sha512(text: str | bytes) -> str:
    return hashlib.sha512(_bytes(text)).hexdigest()


def sha2(text: str | bytes, length: int) -> str:
    name = _LENGTHS.get(length)
    if name is None:
        raise ValueError(f"SHA2 has lengths of 224, 256, 384 and 512 bits, not {length}")
    return hashlib.new(name, _bytes(text)).hexdigest()
