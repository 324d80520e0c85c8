"""HybridSource: sources that are read one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headrace.connectors.file_source import FileSource
from headrace.connectors.whole_files import WholeFiles
from headrace.core.checkpointed import source_part
from headrace.core.operator import Batch
from headrace.core.source import (
    Boundedness,
    LiveReader,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
    SplitSpec,
)
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.formats.stream_format import LineFormat, LinesOfFile
from headrace.origin import calling_origin
from headrace.runtime.source_task import read_split

__all__ = ["HybridSource", "HybridSourceBuilder"]

_AT_ONCE = 32
"""Files, and other splits that come and go, that are read at the same time: each keeps time."""


class HybridSource(Source[Any]):
    """Reads one source after the other; built with `HybridSource.builder(first)`."""

    def __init__(self, sources: Sequence[Source[Any]]):
        self._sources = tuple(sources)
        self.in_steps = any(source.in_steps for source in sources)

    @staticmethod
    def builder(first_source: Any) -> HybridSourceBuilder:
        return HybridSourceBuilder(first_source)

    def create_enumerator(self) -> SplitEnumerator:
        return _InTurn(self._sources)

    def create_reader(self) -> SplitReader[Any]:
        return _ReaderOfAny(self._sources)

    def boundedness(self) -> Boundedness:
        return self._sources[-1].boundedness()

    def produced_type(self) -> TypeInformation | None:
        return _common_type(self._sources)


class HybridSourceBuilder:
    """The sources of a HybridSource, in order."""

    def __init__(self, first_source: Any):
        self._sources = [_as_source(first_source, "builder")]

    def add_source(self, source: Any) -> HybridSourceBuilder:
        """What is read when all before it has come to its end."""
        added, last = _as_source(source, "add_source"), self._sources[-1]
        if last.boundedness() is not Boundedness.BOUNDED:
            raise InvalidArgument(
                f"source {len(self._sources)} of a hybrid source never ends "
                f"({type(last).__name__}), so nothing can follow it",
                origin=calling_origin(),
                hint="Only the last source may be unbounded: give the one before it an end, "
                "with set_bounded(…) for example.",
            )
        _common_type([*self._sources, added])
        self._sources.append(added)
        return self

    def build(self) -> HybridSource:
        return HybridSource(self._sources)


def _as_source(given: object, call: str) -> Source[Any]:
    if isinstance(given, FileSource):
        spec = given.spec()
        if isinstance(spec, SplitSpec):
            return spec.source
        lines = given.stream_format
        assert isinstance(lines, LineFormat)
        watch = given.discovery_interval is not None
        return WholeFiles(LinesOfFile(lines), given.paths, watch, given.origin)
    if isinstance(given, Source):
        return given
    raise TypeMismatch(
        f"HybridSource.{call}() needs a source, not {given!r}",
        origin=calling_origin(),
        hint="Use FileSource, KafkaSource, NumberSequenceSource, … as built, or a subclass of "
        "headrace.datastream.connectors.Source.",
    )


def _common_type(sources: Sequence[Source[Any]]) -> TypeInformation | None:
    known = [type for type in (source.produced_type() for source in sources) if type is not None]
    for number, other in enumerate(known):
        if other != known[0]:
            raise TypeMismatch(
                f"the sources of a hybrid source must give records of one type, but there are "
                f"{known[0]} and {other}",
                origin=calling_origin(),
                hint=f"Let the format or schema of source {number + 1} make what the others make.",
            )
    return known[0] if known else None


class _Members:
    """The sources, and which of them a split is of."""

    def __init__(self, sources: Sequence[Source[Any]]):
        self._sources = sources

    def wrap(self, number: int, split: Split) -> Split:
        return Split(f"{number}:{split.id}", {"source": number, "of": [split.id, split.info]})

    def unwrap(self, split: Split) -> tuple[int, Split]:
        number = split.info["source"]
        if number >= len(self._sources):
            raise InvalidArgument(
                f"the job goes on with source {number + 1} of a hybrid source that has only "
                f"{len(self._sources)}",
                hint="Keep the sources that a job has begun with; add others behind them.",
            )
        return number, Split(*split.info["of"])


class _InTurn(SplitEnumerator):
    """Names the splits of one source, and those of the next when all of them are at their end."""

    def __init__(self, sources: Sequence[Source[Any]]):
        self._sources = sources
        self._members = _Members(sources)
        self._enumerators: dict[int, SplitEnumerator] = {}
        self._current = 0
        self._open: dict[str, Split] = {}
        """Splits of the current source that are being read."""
        self._ended: set[str] = set()

    def splits(self) -> list[Split]:
        while True:
            self._open_more()
            if self._open or self.has_named_all:
                return list(self._open.values())
            self._enumerators.pop(self._current).close()
            self._current += 1
            self._ended.clear()

    def _open_more(self) -> None:
        comes_and_goes = self._sources[self._current].splits_end
        for split in self._enumerator(self._current).splits():
            if comes_and_goes and len(self._open) >= _AT_ONCE:
                return
            wrapped = self._members.wrap(self._current, split)
            if wrapped.id not in self._ended:
                self._open.setdefault(wrapped.id, wrapped)

    @property
    def has_named_all(self) -> bool:
        """Of the last source everything is named that there is, unless it has many files."""
        return self._current == len(self._sources) - 1 and len(self._open) < _AT_ONCE

    def split_ended(self, id: str) -> bool:
        if self._open.pop(id, None) is None:
            return False
        self._ended.add(id)
        return len(self._open) < _AT_ONCE // 2

    def restore(self, splits: list[Split]) -> None:
        known = [(split, *self._members.unwrap(split)) for split in splits]
        self._current = max(number for _, number, _ in known)
        now = [(split, inner) for split, number, inner in known if number == self._current]
        self._open = {split.id: split for split, _ in now}
        self._enumerator(self._current).restore([inner for _, inner in now])

    def initial_position(self, split: Split) -> Any:
        enumerator, inner = self._find(split)
        return enumerator.initial_position(inner)

    def latest_position(self, split: Split, start: Any) -> Any:
        enumerator, inner = self._find(split)
        return enumerator.latest_position(inner, start)

    def is_at_end(self, split: Split, position: Any) -> bool:
        enumerator, inner = self._find(split)
        if self._sources[split.info["source"]].boundedness() is Boundedness.BOUNDED:
            return enumerator.is_at_end(inner, position)
        return enumerator.is_over(inner, position)

    def is_over(self, split: Split, position: Any) -> bool:
        return self.is_at_end(split, position)

    def records_between(self, split: Split, start: Any, end: Any) -> int | None:
        enumerator, inner = self._find(split)
        return enumerator.records_between(inner, start, end)

    def position_after(self, split: Split, start: Any, end: Any, records: int) -> Any:
        enumerator, inner = self._find(split)
        return enumerator.position_after(inner, start, end, records)

    def checkpoint_completed(self, positions: dict[str, Any]) -> None:
        prefix = f"{self._current}:"
        own = {id.removeprefix(prefix): at for id, at in positions.items() if id.startswith(prefix)}
        if own:
            self._enumerator(self._current).checkpoint_completed(own)

    def _find(self, split: Split) -> tuple[SplitEnumerator, Split]:
        number, inner = self._members.unwrap(split)
        return self._enumerator(number), inner

    def _enumerator(self, number: int) -> SplitEnumerator:
        if number not in self._enumerators:
            self._enumerators[number] = source_part(self._sources[number].create_enumerator())
        return self._enumerators[number]

    def close(self) -> None:
        for enumerator in self._enumerators.values():
            enumerator.close()


class _ReaderOfAny(SplitReader[Any]):
    """Reads the splits of all sources, each as its own source does."""

    def __init__(self, sources: Sequence[Source[Any]]):
        self._sources = sources
        self._members = _Members(sources)
        self._readers: dict[int, SplitReader[Any]] = {}

    def read(self, split: Split, start: Any, end: Any) -> Iterable[Any]:
        return (value for batch in self.read_batches(split, start, end) for value in batch.values)

    def read_batches(self, split: Split, start: Any, end: Any) -> Iterator[Batch]:
        reader, inner = self._find(split)
        return read_split(reader, inner, start, end)

    def is_followed(self, split: Split) -> bool:
        return self._find(split)[0].follows

    def follow(self, split: Split, position: Any) -> tuple[Batch, Any] | None:
        reader, inner = self._find(split)
        return reader.follow(inner, position)

    def known_end(self, split: Split) -> Any | None:
        reader, inner = self._find(split)
        return reader.known_end(inner)

    def _find(self, split: Split) -> tuple[SplitReader[Any], Split]:
        number, inner = self._members.unwrap(split)
        if number not in self._readers:
            for before in [each for each in self._readers if each < number]:
                self._readers.pop(before).close()
            reader = source_part(self._sources[number].create_reader())
            if isinstance(reader, LiveReader):
                raise Unsupported(
                    f"{type(self._sources[number]).__name__} cannot be part of a hybrid source: "
                    "it gives what comes and has no end",
                    hint="Use a source whose reader extends SplitReader.",
                )
            self._readers[number] = reader
        return self._readers[number], inner

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
