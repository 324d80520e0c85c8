"""The Spark session jobs run in."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.java import ensure_java
from headrace.spark import daemon
from headrace.spark.class_archive import jvm_options
from headrace.spark.jvm_messages import LOG_LEVEL, hush_loggers, without_chatter
from headrace.spark.spark_home import without_packed_python

Session = SparkSession
"""For those who pass a session on without knowing Spark."""

# Each line is a measured gain or a necessity; docs/decisions has the figures.
_SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.driver.maxResultSize": "0",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    # Else Spark would have one task read all sources that have one partition each.
    "spark.sql.unionOutputPartitioning": "false",
    # Python's output flows while its input does not; a parcel waits for no other.
    "spark.python.udf.pipelined.enabled": "true",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "3",
}
_LOCAL = {
    "spark.ui.enabled": "false",
    # Nobody but this machine has business with a local job.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    # On a cluster, workers may have to do without headrace until a job brings it along.
    "spark.python.daemon.module": daemon.MODULE,
}
_FEW_CORES = 4
_SOCKET_NAME = "/.00000000-0000-0000-0000-000000000000.sock"
_LONGEST_SOCKET_PATH = 103
"""What the system with the least room (macOS) takes."""
_ATTEMPTS = 4
"""How often Spark tries a task; a local master tries once unless told otherwise."""


def requested_settings() -> dict[str, str]:
    """Spark settings given on the command line."""
    return {k: v for k, v in _on_command_line().items() if k.startswith("spark.")}


def requested_options() -> dict[str, str]:
    """Options of the job given on the command line."""
    return {k: v for k, v in _on_command_line().items() if not k.startswith("spark.")}


def _on_command_line() -> dict[str, str]:
    return dict(json.loads(os.environ.get("HEADRACE_CONF", "{}")))


def get_session(settings: Mapping[str, str] | None = None, *, slots: int = 0) -> SparkSession:
    """A session with headrace's settings: a new one beside the user's, or on a local Spark.

    `slots`: how many tasks must be able to run at once, if that can be had.
    """
    hush_loggers()
    active = _with_slots(SparkSession.getActiveSession(), slots)
    # Every job gets a session of its own, so that jobs' settings do not mix.
    if active is not None and not _is_stopped(active):
        return _beside(active)
    ensure_java()
    # Workers must be this interpreter: another would lack the user's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    master = _master(slots)
    builder = SparkSession.builder.appName("headrace").master(master)
    ours = {**_SETTINGS, **_quiet()}
    local = master.startswith("local")
    if local:
        daemon.announce_modules()
        ours |= _LOCAL | _sockets()
    for key, value in {**ours, **requested_settings(), **(settings or {})}.items():
        builder = builder.config(key, value)
    with without_chatter(), without_packed_python() if local else nullcontext():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel(os.environ.get(LOG_LEVEL, "OFF"))
    global _started_here
    _started_here = session.sparkContext._jsc
    return session


def explained(spark: SparkSession, frame: DataFrame) -> str:
    """Spark's own plan, also of a stream."""
    jvm: Any = spark._jvm
    return str(jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "simple"))


def requested_parallelism() -> int | None:
    """What the command line says of jobs that set no parallelism of their own."""
    return int(os.environ.get("HEADRACE_PARALLELISM") or 0) or None


def default_parallelism() -> int:
    """How many slots a job has unless it says otherwise: one for each core."""
    asked = requested_parallelism()
    if asked is not None:
        return asked
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local_slots(spark: SparkSession) -> int | None:
    """How many tasks a local Spark runs at once; None on a cluster, where that may change."""
    context = spark.sparkContext
    if not str(context.master).startswith("local"):
        return None
    return task_slots(spark)


def task_slots(spark: SparkSession) -> int:
    """How many tasks Spark runs at once, as far as is known now."""
    return int(spark.sparkContext._jsc.sc().defaultParallelism())


def _with_slots(active: SparkSession | None, slots: int) -> SparkSession | None:
    """The active session; not one of our own that has too few slots and nothing to do."""
    global _started_here
    if active is None or _is_stopped(active) or not slots or _started_here is None:
        return active
    context = active.sparkContext
    is_ours = context._jsc is _started_here
    idle = not len(context._jsc.sc().statusTracker().getActiveJobIds())
    has = local_slots(active)
    if is_ours and idle and has is not None and has < slots:
        active.stop()
        _started_here = None
        return None
    return active


_started_here: Any = None
"""The context that this module started, as Java knows it."""


def _master(slots: int) -> str:
    threads = max(default_parallelism(), slots)
    return os.environ.get("HEADRACE_MASTER") or f"local[{threads},{_ATTEMPTS}]"


def _beside(active: SparkSession) -> SparkSession:
    session = active.newSession()
    for key, value in _SETTINGS.items():
        if key.startswith("spark.sql."):
            session.conf.set(key, value)
    return session


def _is_stopped(session: SparkSession) -> bool:
    context = session.sparkContext
    return context._jsc is None or context._jsc.sc().isStopped()


def _quiet() -> dict[str, str]:
    """Spark's own start-up messages say nothing to a headrace user."""
    config = Path(__file__).with_name("log4j2.properties")
    scratch = tempfile.gettempdir()
    return {
        "spark.driver.extraJavaOptions": " ".join(
            [
                f"-Dlog4j2.configurationFile={config.as_uri()}",
                f"-Dderby.system.home={scratch}",
                *jvm_options(),
                *_for_few_cores(),
            ]
        ),
        "spark.sql.warehouse.dir": str(Path(scratch) / "headrace-warehouse"),
    }


def _sockets() -> dict[str, str]:
    """Workers are spoken to through sockets in a folder that only this user may enter.

    Over TCP, the small messages of a micro-batch wait 40 ms for each other; see decision 0019.
    """
    if not hasattr(socket, "AF_UNIX"):
        return {}
    folder = tempfile.mkdtemp(prefix="headrace-sockets-")
    if len(folder) + len(_SOCKET_NAME) > _LONGEST_SOCKET_PATH:
        Path(folder).rmdir()
        return {}
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


def _for_few_cores() -> list[str]:
    """What the JVM does beside its work takes the cores that Python needs; see decision 0020."""
    if default_parallelism() > _FEW_CORES:
        return []
    options = ["-XX:+UseSerialGC"]
    if "headrace.table" not in sys.modules:
        # Nothing that Spark computes itself: no need to compile it twice.
        options.append("-XX:TieredStopAtLevel=1")
    return options
