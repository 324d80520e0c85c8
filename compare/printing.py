"""What a call prints, whether Python or the JVM behind PyFlink prints it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import pyflink.java_gateway as java


def printed_text(action: Callable[[], object]) -> str:
    """The text that an action prints."""
    if not hasattr(java, "launch_gateway"):  # headrace
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            action()
        return text.getvalue()
    jvm = java.get_gateway().jvm
    held = jvm.java.io.ByteArrayOutputStream()
    before = jvm.System.out
    jvm.System.setOut(jvm.java.io.PrintStream(held, True, "UTF-8"))
    try:
        action()
        return held.toString("UTF-8")
    finally:
        jvm.System.setOut(before)
