"""Ending a job as soon as one of its tasks has failed for good.

Spark would try the task again, each time in a new Python process. Where the driver and the tasks
are on one machine the driver sees the notes that they leave, and cancels the job; elsewhere each
further attempt fails by the note it finds, or by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from headrace.errors import HeadraceError
from headrace.spark.failed_attempts import GROUP, folder_of_notes, notes_of
from headrace.spark.failures import from_spark

T = TypeVar("T")
_PAUSE = 0.1


def run_in_group(spark: SparkSession, work: Callable[[], T]) -> T:
    """Do work that runs Spark jobs in this thread's job group; raises what a user should see."""
    group = spark.sparkContext.getLocalProperty(GROUP) or ""
    jvm: Any = spark._jvm
    folder = folder_of_notes(jvm.org.apache.spark.SparkFiles.getRootDirectory())
    known = set(notes_of(folder, group))  # a job that starts again keeps its group
    done = threading.Event()
    found: list[HeadraceError] = []

    def watch() -> None:
        while not done.wait(_PAUSE):
            new = [note for note in notes_of(folder, group) if note not in known]
            if new:
                found.append(from_spark(Exception(new[0].read_text(encoding="utf-8"))))
                spark.sparkContext.cancelJobGroup(group)
                return

    watching = threading.Thread(target=watch, daemon=True, name="headrace-notes")
    watching.start()
    try:
        try:
            return work()
        finally:
            done.set()
            watching.join()
    except Exception as error:
        raise (found[0] if found else from_spark(error)) from None
