"""From a source's description to the streaming DataFrame that holds its rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.functions import col, regexp_replace
from pyspark.sql.streaming.readwriter import DataStreamReader

from headrace.core.checkpointed import source_part
from headrace.core.crash_points import reach
from headrace.core.source import (
    Boundedness,
    CollectionSpec,
    FrameSpec,
    SocketTextSpec,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
    SplitSpec,
    TextFilesSpec,
)
from headrace.errors import SourceUnavailable, Unsupported
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.flow.splits import is_within
from headrace.runtime.source_task import encode_ranges
from headrace.spark.admission_notes import AdmissionNotes, Gate, Pace
from headrace.spark.alignment import waiting
from headrace.spark.arrow_rows import only_row
from headrace.spark.garbage import pass_over_what_stays
from headrace.spark.shipment import read_shipment

FILES_PER_BATCH = "headrace.stream.files-per-batch"
"""Where the readers of tables find in the session how many files a micro-batch may take."""


def stream_input(
    spark: SparkSession, vertex: Vertex, shipment: Path, alignment: str,
    files_per_batch: int | None = None, admission: str | None = None,
    began_at: Mapping[str, Any] | None = None, interval_ms: int = 0,
) -> DataFrame:  # fmt: skip
    """The rows of a source as they come; one column, as in a batch.

    `shipment` is the file that the plan is in, `alignment` and `admission` are where the driver
    notes what shall wait. `began_at` is where the
    source stood in the savepoint that the job started from. An endless source with splits starts a
    micro-batch every `interval_ms`, or at once while it is behind.
    """
    spec = vertex.source
    _require_understood(vertex, began_at or {})
    match spec:
        case TextFilesSpec():
            frame = _files(spark, vertex, spec, files_per_batch)
            return _without(frame, (began_at or {}).get("files", ()))
        case SocketTextSpec():
            reader = spark.readStream.format("socket")
            return reader.option("host", spec.host).option("port", spec.port).load()
        case FrameSpec():
            spark.conf.set(FILES_PER_BATCH, str(files_per_batch or ""))
            rows_of_table: DataFrame = spec.frame.value(spark, True)
            return rows_of_table
        case CollectionSpec():
            raise AssertionError("collections become split sources before they are streamed")
        case SplitSpec():
            name = f"headrace_{vertex.id}_{vertex.uid}"
            spark.dataSource.register(
                _data_source(name, shipment, vertex.id, alignment, admission, began_at, interval_ms)
            )
            return spark.readStream.format(name).load()
        case _:
            raise Unsupported(f"{vertex.name!r} cannot be read as a stream", origin=vertex.origin)


def _require_understood(vertex: Vertex, began_at: Mapping[str, Any]) -> None:
    """Refuse positions that only a job in real time can read on from: records would come twice."""
    splits: Mapping[str, Any] = began_at.get("splits") or {}
    of_files = isinstance(vertex.source, TextFilesSpec) and splits
    if of_files or any(is_within(position) for _, position in splits.values()):
        raise Unsupported(
            f"{vertex.name!r} was read in real time, and micro-batches cannot go on from there yet",
            origin=vertex.origin,
            hint="Set headrace.stream.mode to real-time.",
        )


def unreached_socket(plan: PhysicalPlan, error: str) -> SourceUnavailable | None:
    """What to say if a stream failed since nobody listens where one of its sockets reads."""
    if not any(trouble in error for trouble in ("Connection refused", "UnknownHostException")):
        return None
    for vertex in plan.sources:
        if isinstance(vertex.source, SocketTextSpec):
            place = f"{vertex.source.host}:{vertex.source.port}"
            return SourceUnavailable(
                f"{vertex.name!r}: nobody listens at {place}",
                origin=vertex.origin,
                hint="Start what sends the lines before the job, for example "
                f"`nc -lk {vertex.source.port}`.",
            )
    return None


def _files(
    spark: SparkSession, vertex: Vertex, spec: TextFilesSpec, files_per_batch: int | None
) -> DataFrame:
    if len(spec.paths) != 1:
        raise Unsupported(
            "a stream of files reads one folder", origin=vertex.origin,
            hint="Make one source for each folder and unite them.",
        )  # fmt: skip
    path = Path(spec.paths[0].removeprefix("file://"))
    if "://" not in spec.paths[0] and not path.exists() and "*" not in spec.paths[0]:
        raise SourceUnavailable(
            f"{vertex.name!r}: there is no file or folder {spec.paths[0]}", origin=vertex.origin,
            hint="Create it before the job starts; files put there later are read as they come."
            if spec.watch
            else "Check the path; a relative one starts at the folder you run in.",
        )  # fmt: skip
    reader = of_new_files(spark.readStream.option("encoding", spec.charset), files_per_batch)
    return reader.text(_as_pattern(path) if path.is_file() else spec.paths[0])


def of_new_files(reader: DataStreamReader, files_per_batch: int | None) -> DataStreamReader:
    """The reader, set to take every file that it has not read before, in subfolders too."""
    # By default Spark leaves out, without a word, files a week older than the newest it has read.
    reader = reader.option("recursiveFileLookup", "true").option("maxFileAge", "36500d")
    if files_per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", files_per_batch)
    return reader


def _without(frame: DataFrame, seen: Sequence[str]) -> DataFrame:
    """The lines of files other than those a savepoint's job has read."""
    if not seen:
        return frame
    # Spark's log and the column write the root of local files differently.
    path = regexp_replace(col("_metadata.file_path"), "^file:/+", "file:///")
    return frame.filter(~path.isin(*seen)).select("value")


def _as_pattern(file: Path) -> str:
    """A pattern that only one file matches: Spark streams folders and patterns, not files."""
    return f"{file.resolve().parent}/[{file.name[0]}]{file.name[1:]}"


def with_positions(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with its collections as sources with positions, so that a stream can read them."""
    vertices = {
        id: replace(vertex, source=SplitSpec(CollectionSource(vertex.source.values)))
        if isinstance(vertex.source, CollectionSpec) else vertex
        for id, vertex in plan.vertices.items()
    }  # fmt: skip
    return replace(plan, vertices=vertices)


class CollectionSource(Source[Any]):
    """Values of the program, read once; a position is an index."""

    def __init__(self, values: tuple[Any, ...]):
        self._values = values

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _OneSplit(len(self._values))

    def create_reader(self) -> SplitReader[Any]:
        return _Slices(self._values)


class _OneSplit(SplitEnumerator):
    positions_count_records = True

    def __init__(self, size: int):
        self._size = size

    def splits(self) -> list[Split]:
        return [Split("all")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return self._size


class _Slices(SplitReader[Any]):
    def __init__(self, values: tuple[Any, ...]):
        self._values = values

    def read(self, split: Split, start: Any, end: Any) -> Iterator[Any]:
        return iter(self._values[start:end])


def _data_source(
    source_name: str,
    shipment: Path,
    vertex: int,
    alignment: str,
    admission: str | None,
    began_at: Mapping[str, Any] | None,
    interval_ms: int,
) -> type[DataSource]:
    """A Spark data source whose rows say what to read; level 0 does the reading.

    It takes the source out of the shipment, in a process of its own that has the user's modules
    only once the shipment is unpacked. The shipment is in a file, for the class must be small: what
    is larger than a megabyte Spark sends as a broadcast, which that process cannot read.
    """

    class SplitsSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return source_name

        def schema(self) -> str:
            return "row binary"

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            spec = read_shipment(shipment).plan().vertices[vertex].source
            assert isinstance(spec, SplitSpec)
            notes = None if admission is None else AdmissionNotes(admission)
            return SplitStream(
                spec.source,
                lambda: waiting(alignment, vertex),
                notes,
                vertex,
                (began_at or {}).get("splits"),
                Pace(interval_ms),
            )

    return SplitsSource


_NO_SPLIT = Split("")
"""Stands for a bounded source that turned out to have no splits: it has ended."""


class SplitStream(DataSourceStreamReader):
    """Positions of splits as Spark offsets. Lives in a process of its own beside the driver."""

    def __init__(
        self, source: Source[Any], waiting: Callable[[], set[str]] = set,
        notes: AdmissionNotes | None = None, vertex: int = 0,
        began_at: Mapping[str, Any] | None = None, pace: Pace | None = None,
    ):  # fmt: skip
        self._enumerator = source_part(source.create_enumerator())
        self._waiting = waiting
        self._gate = Gate(self._enumerator, notes, vertex, one_by_one=source.splits_end)
        self._announced: set[str] = set()
        self._began_at = dict(began_at or {})
        self._bounded = source.boundedness() is Boundedness.BOUNDED
        self._splits_end = source.splits_end
        # Who waits for a bounded source must not take a pause for its end.
        self._pace = Pace(0) if self._bounded or pace is None else pace
        self._planned = self._begun = 0

    def __getstate__(self) -> dict[str, Any]:
        # Workers get a copy for `read`, which needs nothing; the enumerator stays here.
        return {}

    def initialOffset(self) -> dict[str, Any]:
        # A savepoint's splits count even if the source no longer names them: they were read.
        fresh = {split.id: [split.info, self._enumerator.initial_position(split)]
                 for split in self._enumerator.splits()}  # fmt: skip
        return _offset({**fresh, **self._began_at})

    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        if self._pace.holds_back():
            return start
        positions = _positions(start)
        waiting = self._waiting()
        offers = []
        for split in self._enumerator.splits():
            known = positions.get(split.id)
            if known is not None and split.id in waiting:
                continue
            at = self._enumerator.initial_position(split) if known is None else known[1]
            offers.append((split, at, self._enumerator.latest_position(split, at)))
        ends = self._gate.admit(offers)
        positions.update((split.id, [split.info, ends[split.id]]) for split, _, _ in offers)
        latest = _offset(positions)
        if latest != start:
            reach("offset-log.before", self._planned)
            self._planned += 1
            cut = any(ends[split.id] != available for split, _, available in offers)
            self._pace.planned(is_behind=cut)
        return latest

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        reach("offset-log.after", self._begun)
        self._begun += 1
        begun = _positions(start)
        ranges = []
        silent = []
        for split_id, (info, to) in _positions(end).items():
            split = Split(split_id, info)
            known = begun.get(split_id)
            at = self._enumerator.initial_position(split) if known is None else known[1]
            if at == to and (self._splits_end or split_id in self._announced):
                continue  # one that comes and goes holds nothing back
            ends = self._bounded and self._enumerator.latest_position(split, to) == to
            if at == to:
                silent.append((split, at, to, ends))
            else:
                for first, last in pairwise([at, *self._enumerator.cuts(split, at, to), to]):
                    ranges.append(InputPartition(encode_ranges([(split, first, last, ends)])))
        if self._bounded and not _positions(end) and not self._announced:
            silent.append((_NO_SPLIT, 0, 0, True))
            self._announced.add(_NO_SPLIT.id)
        self._announced.update(_positions(end))
        if silent:
            # A split without records holds time back from the start, or ends: slots must know.
            ranges.append(InputPartition(encode_ranges(silent)))
        return ranges

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        pass_over_what_stays()
        yield only_row(partition.value)

    def stop(self) -> None:
        self._enumerator.close()
        if isinstance(sys.exception(), EOFError):
            # Spark has hung up, as it does when a query stops. The process that this runs in by
            # itself would want to tell Spark, fail at that, and show the user two tracebacks.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


def _offset(positions: dict[str, Any]) -> dict[str, Any]:
    # One JSON string: Spark's offsets may hold only plain values, positions any JSON.
    return {"splits": json.dumps(positions, sort_keys=True)}


def _positions(offset: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(offset["splits"])
    return found
