"""Ending a job as soon as one of its tasks has failed for good.

Spark would try the task again, each time in a new Python process. Where the driver and the tasks
are on one machine the driver sees the notes that they leave, and cancels the job; elsewhere each
further attempt fails by the note it finds, or by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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
    found: list[HeadraceError] = []

    def end(error: HeadraceError) -> None:
        found.append(error)
        spark.sparkContext.cancelJobGroup(group)

    try:
        with ended_by_notes(spark, lambda: group, end):
            return work()
    except Exception as error:
        raise (found[0] if found else from_spark(error)) from None


@contextmanager
def ended_by_notes(
    spark: SparkSession,
    group: Callable[[], str | None],
    end: Callable[[HeadraceError], None],
) -> Iterator[None]:
    """While inside, `end` is called with what a task of the job group has failed with for good."""
    jvm: Any = spark._jvm
    folder = folder_of_notes(jvm.org.apache.spark.SparkFiles.getRootDirectory())
    done = threading.Event()
    known = set(notes_of(folder, None))  # a job that starts again keeps its group
    watch = threading.Thread(
        target=_watch, args=(folder, known, group, end, done), daemon=True, name="headrace-notes"
    )
    watch.start()
    try:
        yield
    finally:
        done.set()
        watch.join()


def _watch(
    folder: Path,
    known: set[Path],
    group: Callable[[], str | None],
    end: Callable[[HeadraceError], None],
    done: threading.Event,
) -> None:
    while not done.wait(_PAUSE):
        if not folder.exists():
            continue
        name = group()
        new = [] if name is None else [each for each in notes_of(folder, name) if each not in known]
        if new:
            end(from_spark(Exception(new[0].read_text(encoding="utf-8"))))
            return
