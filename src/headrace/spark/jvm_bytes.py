"""Bytes between Python and Spark's JVM, which are on the same machine.

Py4J writes them as text: a few MB take a third of a second. By way of a file they take a hundredth.
"""

from __future__ import annotations

from tempfile import NamedTemporaryFile
from typing import Any

from pyspark.sql import SparkSession

_SMALL = 32 * 1024
"""Bytes that are sooner sent as text than written to a file."""


def write_bytes(spark: SparkSession, stream: Any, content: bytes) -> None:
    """Write to a stream of the JVM."""
    if len(content) <= _SMALL:
        stream.write(bytearray(content))
        return
    jvm: Any = spark._jvm
    with NamedTemporaryFile(prefix="headrace-") as between:
        between.write(content)
        between.flush()
        source = jvm.java.io.FileInputStream(between.name)
        try:
            jvm.org.apache.commons.io.IOUtils.copyLarge(source, stream)
        finally:
            source.close()


def read_bytes(spark: SparkSession, stream: Any, size: int) -> bytes:
    """Read so many bytes from a stream of the JVM; fewer if it ends before."""
    if size <= _SMALL:
        return bytes(stream.readNBytes(size))
    jvm: Any = spark._jvm
    with NamedTemporaryFile(prefix="headrace-") as between:
        target = jvm.java.io.FileOutputStream(between.name)
        try:
            jvm.org.apache.commons.io.IOUtils.copyLarge(stream, target, 0, size)
        finally:
            target.close()
        return between.read()
