"""Paths of the local file system, as users write them."""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path

from headrace.errors import Unsupported
from headrace.origin import calling_origin

__all__ = ["local_path"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def local_path(path: str, use: str) -> Path:
    """The file or folder of a path or a `file:` address; `use` says what it is for."""
    scheme = _SCHEME.match(path)
    if scheme is None:
        return Path(path).absolute()
    if scheme[1].lower() == "file":
        return Path(urllib.parse.unquote(urllib.parse.urlsplit(path).path))
    raise Unsupported(
        f"{use} {path!r}: only the local file system can be used here, not {scheme[1]}:",
        origin=calling_origin(),
        hint="Mount the storage as a folder, and give that folder's path.",
    )
