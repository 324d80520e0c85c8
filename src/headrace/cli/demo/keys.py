"""Single keys of the terminal, without waiting for them."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["pressed_key", "single_keys"]


@contextmanager
def single_keys() -> Iterator[None]:
    """Inside, keys are there when they are pressed, and are not shown; Ctrl-C is what it was."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def pressed_key() -> str:
    """A key that was pressed meanwhile; nothing if there is none, or no terminal."""
    if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return ""
    return os.read(sys.stdin.fileno(), 1).decode("ascii", errors="replace").lower()
