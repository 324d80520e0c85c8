"""The secret that compiled plans are signed with: the user's own, or one that machines share."""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from headrace.java import cache_folder

KEY_VARIABLE = "HEADRACE_PLAN_KEY"


def sign(content: bytes) -> str:
    """What only somebody who has the key can tell of the content."""
    return hmac.new(_key(), content, "sha256").hexdigest()


def _key() -> bytes:
    shared = os.environ.get(KEY_VARIABLE)
    return shared.encode() if shared else _own_key(cache_folder() / "plan-key")


def _own_key(file: Path) -> bytes:
    """The key of this user on this machine, drawn the first time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    drawn = file.with_name(f"{file.name}.{os.getpid()}")
    if not file.exists():
        drawn.touch(mode=0o600)
        drawn.write_bytes(secrets.token_bytes(32))
        with suppress(FileExistsError):  # another process was first
            os.link(drawn, file)
        drawn.unlink()
    return file.read_bytes()
