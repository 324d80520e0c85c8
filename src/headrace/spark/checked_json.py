"""JSON files that carry the checksum of what they say."""

from __future__ import annotations

import json
from typing import Any
from zlib import crc32

_CHECKSUM = "checksum"


def checksum_of(content: dict[str, Any]) -> int:
    return crc32(json.dumps(content, sort_keys=True).encode())


def dumped(content: dict[str, Any]) -> bytes:
    """The content and its checksum, to be read by people, too."""
    whole = {**content, _CHECKSUM: checksum_of(content)}
    return json.dumps(whole, indent=1).encode()


def loaded(text: bytes) -> dict[str, Any]:
    """The content; raises ValueError if it is not what was written."""
    found = json.loads(text)
    if not isinstance(found, dict) or found.pop(_CHECKSUM, None) != checksum_of(found):
        raise ValueError("the checksum does not match")
    return found
