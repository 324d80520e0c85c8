"""Whether the real-time mode of this Spark does what jobs rely on; tried until that is sure.

Real-time mode with Python functions rests on parts of Spark that promise nothing. A small query
shows what matters: that rows reach the next task one by one, soon, all of them and in order.
"""

from __future__ import annotations

import json
import os
import queue
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from headrace.java import cache_folder
from headrace.runtime.flow.messages import Hello, TaskId, Told
from headrace.spark.arrow_rows import slot_and_blob
from headrace.spark.flow.channel import Address, Link, Server, leave_process
from headrace.spark.flow.query import clock, exchanged, start_query
from headrace.spark.worker import SCHEMA, ArrowFunction

_SENDER, _RECEIVER = TaskId(0, 0), TaskId(1, 0)
_GO = "go"
_ROWS = 200
_PAUSE = 0.002
_PATIENCE = 30.0
"""For each step: the two tasks come one after the other, and then the rows."""
_SOON_MS = 250
"""Where rows wait for each other, they wait for all of them, or for ever."""
_SLOW = "rows take "
_WRONG = "rows are lost, repeated or out of order on their way"
_TRIES = 3
"""For a machine that has other things to do at the moment."""
_VERSION = 3
"""Counts up when the test changes."""


def why_not_real_time(spark: SparkSession, host: str, *, kept_in: Path | None = None) -> str | None:
    """What is wrong with this Spark's real-time mode; None if it can be trusted."""
    kept = (kept_in or cache_folder()) / f"real-time-{_VERSION}-spark-{pyspark.__version__}.json"
    with suppress(OSError, ValueError, KeyError):
        return _text(json.loads(kept.read_text(encoding="utf-8"))["why_not"])
    found = _try(spark, host)
    for _ in range(_TRIES - 1):
        if _is_slow(found):
            found = _try(spark, host)
    if found not in (None, _WRONG):
        # Only rows that have arrived show what Spark does; anything else may be the machine's
        # matter, which may be better off the next time: a full disk, too few free cores.
        return found
    with suppress(OSError):  # it is tried again next time
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_name(f"{kept.name}.{os.getpid()}")
        part.write_text(json.dumps({"why_not": found}), encoding="utf-8")
        part.replace(kept)
    return found


def _is_slow(found: str | None) -> bool:
    return found is not None and found.startswith(_SLOW)


def _text(found: Any) -> str | None:
    if found is not None and not isinstance(found, str):
        raise ValueError(found)
    return found


def _try(spark: SparkSession, host: str) -> str | None:
    heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
    server = Server(host, lambda task, said: heard.put(said))
    session = spark.newSession()
    with tempfile.TemporaryDirectory(prefix="headrace-self-test-") as folder:
        try:
            frame = clock(session, 1).mapInArrow(_send(server.address), SCHEMA)
            frame = exchanged(frame, 1).mapInArrow(_receive(server.address), SCHEMA)
            query = start_query(session, frame, str(Path(folder) / "spark"))
        except Exception as error:
            server.dismiss(0)
            return f"it does not start: {str(error).splitlines()[0]}"
        try:
            return _judge(heard, server)
        finally:
            server.dismiss(_PATIENCE / 10)
            with suppress(Exception):
                query.stop()


def _judge(heard: queue.SimpleQueue[Any], server: Server) -> str | None:
    deadline = time.monotonic() + _PATIENCE
    here, somebody_came = 0, False
    while time.monotonic() < deadline:
        with suppress(queue.Empty):
            said = heard.get(timeout=0.1)
            if isinstance(said, Hello):
                here, somebody_came = here + 1, True
                deadline = time.monotonic() + _PATIENCE
            if here == 2:  # what is sent before both are there only shows how slow workers start
                here = 0
                server.send(_SENDER, _GO)
            if isinstance(said, Told):
                numbers, delays = said.items[0][3]
                if numbers != list(range(_ROWS)):
                    return _WRONG
                if statistics.median(delays) > _SOON_MS:
                    return f"{_SLOW}{statistics.median(delays):.0f} ms to the next task"
                return None
    if not somebody_came:
        return f"{_SLOW}more than {_PATIENCE:.0f} seconds to set out"
    return f"no rows arrive within {_PATIENCE:.0f} seconds"


def _send(address: Address) -> ArrowFunction:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        leave = Link(address, Hello(_SENDER), said.put).over
        said.get()
        for number in range(_ROWS):
            yield slot_and_blob(0, json.dumps([number, time.time()]).encode())
            time.sleep(_PAUSE)
        leave.wait()
        leave_process()

    return run


def _receive(address: Address) -> ArrowFunction:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        link = Link(address, Hello(_RECEIVER), lambda said: None)
        leave = link.over
        numbers: list[int] = []
        delays: list[float] = []
        for batch in rows:
            for blob in batch.column(1).to_pylist():
                if blob is not None:
                    number, sent = json.loads(blob)
                    numbers.append(number)
                    delays.append((time.time() - sent) * 1000)
            if len(numbers) >= _ROWS:
                link.send(Told(_RECEIVER, ((0, 0, "rows", (numbers, delays)),)))
                leave.wait()
                leave_process()
        yield from ()

    return run
