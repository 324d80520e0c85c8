"""Behaviour written down as data, which every engine must show.

A transcript names an operator and a function, and then tells step by step what is done and what
comes of it. The steps are the same for the harness and for a job on Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from headrace.core.state import MapStateDescriptor
from headrace.datastream.data_stream import DataStream
from headrace.errors import InvalidArgument

__all__ = ["Step", "Transcript", "load_transcripts"]

RULES = MapStateDescriptor("rules")
"""The broadcast state of broadcast operators."""

_ACTIONS = ("send", "watermark", "processing_time", "crash", "finish")
_CHECKS = ("expect", "side_outputs", "timers", "state", "broadcast_state")
_DETAILS = ("at", "input")
_FIELDS = {"name", "operator", "function", "arguments", "key", "field", "engines", "steps"}

Streams = tuple[DataStream, ...]


@dataclass(frozen=True)
class Step:
    """One thing that is done, and what must then be so."""

    action: str
    argument: Any = None
    at: tuple[int | None, ...] | None = None
    input: int | None = None
    expect: tuple[Any, ...] = ()
    side_outputs: Mapping[str, tuple[Any, ...]] | None = None
    timers: Mapping[str, tuple[Any, ...]] | None = None
    state: Mapping[str, Mapping[Any, Any]] | None = None
    broadcast_state: Mapping[Any, Any] | None = None


@dataclass(frozen=True)
class Transcript:
    """What an operator does, step by step."""

    name: str
    operator: str
    steps: tuple[Step, ...]
    function: str | None = None
    arguments: tuple[Any, ...] = ()
    key: int | None = None
    """The field of a record that is its key; None: the record itself."""
    field: int = 0
    engines: tuple[str, ...] = ("memory", "spark")

    @property
    def inputs(self) -> int:
        return 2 if self.operator in _TWO_INPUTS else 1

    @property
    def runs_on_spark(self) -> bool:
        """Whether no step sets the clock, which is nobody's to set there."""
        by_hand = any(step.action == "processing_time" for step in self.steps)
        return "spark" in self.engines and not by_hand

    def build(self, functions: ModuleType, *streams: DataStream) -> DataStream:
        """Apply the operator to its input streams."""
        function = None
        if self.function is not None:
            function = getattr(functions, self.function)
            if isinstance(function, type):
                function = function(*self.arguments)
        return OPERATORS[self.operator](self, function, streams)

    def results(self) -> dict[str | None, list[Any]]:
        """Everything that comes out, by side output; None is the main output."""
        found: dict[str | None, list[Any]] = {None: []}
        for step in self.steps:
            found[None] += step.expect
            for tag, values in (step.side_outputs or {}).items():
                found.setdefault(tag, []).extend(values)
        return found

    def selector(self) -> Callable[[Any], Any]:
        return _itself if self.key is None else itemgetter(self.key)


def _itself(record: Any) -> Any:
    return record


Builder = Callable[[Transcript, Any, Streams], DataStream]

OPERATORS: dict[str, Builder] = {
    "map": lambda _, f, s: s[0].map(f),
    "flat_map": lambda _, f, s: s[0].flat_map(f),
    "filter": lambda _, f, s: s[0].filter(f),
    "process": lambda _, f, s: s[0].process(f),
    "keyed map": lambda t, f, s: s[0].key_by(t.selector()).map(f),
    "keyed flat_map": lambda t, f, s: s[0].key_by(t.selector()).flat_map(f),
    "keyed filter": lambda t, f, s: s[0].key_by(t.selector()).filter(f),
    "keyed process": lambda t, f, s: s[0].key_by(t.selector()).process(f),
    "reduce": lambda t, f, s: s[0].key_by(t.selector()).reduce(f),
    "sum": lambda t, _, s: s[0].key_by(t.selector()).sum(t.field),
    "min": lambda t, _, s: s[0].key_by(t.selector()).min(t.field),
    "max": lambda t, _, s: s[0].key_by(t.selector()).max(t.field),
    "min_by": lambda t, _, s: s[0].key_by(t.selector()).min_by(t.field),
    "max_by": lambda t, _, s: s[0].key_by(t.selector()).max_by(t.field),
    "union process": lambda t, f, s: s[0].union(s[1]).key_by(t.selector()).process(f),
    "co map": lambda _, f, s: s[0].connect(s[1]).map(f),
    "co process": lambda _, f, s: s[0].connect(s[1]).process(f),
    "keyed co process": lambda t, f, s: (
        s[0].connect(s[1]).key_by(t.selector(), t.selector()).process(f)
    ),
    "broadcast process": lambda _, f, s: s[0].connect(s[1].broadcast(RULES)).process(f),
    "keyed broadcast process": lambda t, f, s: (
        s[0].key_by(t.selector()).connect(s[1].broadcast(RULES)).process(f)
    ),
}
_TWO_INPUTS = frozenset(
    name for name in OPERATORS if {"union", "co", "broadcast"} & set(name.split())
)


def load_transcripts(folder: str | Path) -> list[Transcript]:
    """The transcripts of every YAML file in a folder; a file holds a list of them."""
    found = [
        _transcript(entry, path)
        for path in sorted(Path(folder).glob("*.yaml"))
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]
    names = [transcript.name for transcript in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InvalidArgument(f"two transcripts have one name: {', '.join(sorted(twice))}")
    return found


def _transcript(entry: dict[str, Any], path: Path) -> Transcript:
    where = f"{path.name}: {entry.get('name', 'a transcript without a name')}"
    _check_keys(entry, _FIELDS, where)
    if entry.get("operator") not in OPERATORS:
        raise InvalidArgument(
            f"{where}: there is no operator {entry.get('operator')!r}",
            hint=f"Use one of: {', '.join(OPERATORS)}.",
        )
    fields = {name: frozen(value) for name, value in entry.items() if name != "steps"}
    steps = tuple(_steps(entry["steps"], where))
    return Transcript(**fields, steps=steps)


def _steps(entries: list[dict[str, Any]], where: str) -> Iterator[Step]:
    step = None
    for number, entry in enumerate(entries, start=1):
        place = f"{where}, step {number}"
        _check_keys(entry, {*_ACTIONS, *_CHECKS, *_DETAILS}, place)
        actions = [name for name in _ACTIONS if name in entry]
        if len(actions) != 1:
            raise InvalidArgument(f"{place}: a step is one of {', '.join(_ACTIONS)}")
        if step is not None and step.action == "finish":
            raise InvalidArgument(f"{place}: nothing comes after the end of the input")
        rest = {name: frozen(value) for name, value in entry.items() if name not in _ACTIONS}
        step = Step(actions[0], frozen(entry[actions[0]]), **rest)
        yield step
    if step is None or step.action != "finish":
        yield Step("finish")  # so that no transcript is silent about what is left


def _check_keys(entry: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(entry) - known)
    if unknown:
        raise InvalidArgument(
            f"{where}: unknown {', '.join(unknown)}", hint=f"Known: {', '.join(sorted(known))}."
        )


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down: records are tuples, and YAML has only lists."""
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return value
