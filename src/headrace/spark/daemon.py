"""The process that Spark forks its Python workers from: it has imported what they need.

Spark's own daemon imports little, and each worker does the rest for itself: a second of a core and
more, as many times as a job has tasks. Here it is done once, and workers share the memory it takes.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

MODULE = "headrace.spark.daemon"
_VARIABLE = "HEADRACE_PRELOAD"
_NEEDED = ("pyspark.worker", "headrace.spark.flow.round_worker", "headrace.spark.flow.worker")
_TRAVEL = tuple(
    f"headrace.{package}."
    for package in ("connectors", "core", "datastream", "formats", "operators", "runtime")
)
"""Packages whose classes are in the plans that workers unpickle."""
_COLLECT_AFTER = 10_000
"""Objects: a batch alone is thousands of tuples, and Python looks through them after 700."""


def announce_modules() -> None:
    """In the driver, before Spark starts: workers will import what the program has imported."""
    found = [name for name in sys.modules if name.startswith(_TRAVEL)]
    os.environ[_VARIABLE] = ",".join(sorted(found))


def preload() -> None:
    """Import what workers import sooner or later."""
    for name in (*_NEEDED, *os.environ.get(_VARIABLE, "").split(",")):
        with suppress(ImportError, ValueError):  # whoever needs it says so in better words
            __import__(name)
    gc.set_threshold(_COLLECT_AFTER)
    gc.collect()
    gc.freeze()  # a worker's collector would touch, and so copy, every page of it


if __name__ == "__main__":
    from pyspark import daemon

    from headrace.spark.slot_routing import routed

    preload()
    daemon.worker = routed(daemon.worker)  # type: ignore[assignment]  # has other names
    daemon.manager()
