"""Drawing a pattern: its states and edges, as SVG, as PNG or as text for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headrace.cep.picture import Picture, laid_out, svg_of
from headrace.cep.picture_png import png_of
from headrace.core.patterns import (
    Always,
    Both,
    Condition,
    Either,
    EventPattern,
    Inverse,
    Part,
    Test,
    stages_of,
)
from headrace.errors import InvalidArgument
from headrace.operators.cep.automaton import Action, Automaton, Kind, State
from headrace.origin import calling_origin

__all__ = ["Drawing"]

_SIGNS = {Kind.START: "▶", Kind.FINAL: "◉", Kind.STOP: "✕", Kind.PENDING: "◷", Kind.NORMAL: "○"}
_MEANINGS = {Kind.START: "waits for a first event", Kind.FINAL: "the match is complete",
             Kind.STOP: "the match is given up", Kind.NORMAL: "waits for an event",
             Kind.PENDING: "complete when the time is over"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge with its condition in words."""

    action: Action
    source: str
    target: str
    condition: str

    @property
    def label(self) -> str:
        return f"{self.action.value} {self.condition}".strip()


@dataclass(frozen=True)
class Drawing:
    """The picture of a pattern; printed, it is text, and a notebook shows it as SVG."""

    states: tuple[State, ...]
    """Those a match can come to, in the order it comes to them."""
    edges: tuple[DrawnEdge, ...]
    within_ms: int | None

    def text(self) -> str:
        """For a terminal: each state with its edges."""
        lines = []
        for state in self.states:
            lines.append(f"{_SIGNS[state.kind]} {_title(state.name)}   ({_MEANINGS[state.kind]})")
            for edge in self.edges:
                if edge.source == state.name and state.kind is not Kind.STOP:
                    target = "itself" if edge.target == edge.source else _title(edge.target)
                    lines.append(f"    {edge.action.value:<8}{edge.condition:<24} → {target}")
        if self.within_ms is not None:
            lines.append(f"  all within {self.within_ms} ms")
        return "\n".join(lines)

    def svg(self) -> str:
        """As the text of an SVG file."""
        return svg_of(self._picture())

    def png(self, scale: float = 2) -> bytes:
        """As the bytes of a PNG file, so many times as large as the SVG; needs matplotlib."""
        return png_of(self._picture(), scale)

    def save(self, path: str | Path) -> None:
        """Write a file: `.svg`, `.png`, or `.txt`."""
        target = Path(path)
        match target.suffix.lower():
            case ".svg":
                target.write_text(self.svg(), encoding="utf-8")
            case ".png":
                target.write_bytes(self.png())
            case ".txt":
                target.write_text(f"{self.text()}\n", encoding="utf-8")
            case other:
                raise InvalidArgument(
                    f"a pattern cannot be drawn as {other or 'a file without a suffix'}",
                    origin=calling_origin(), hint="Give a path that ends in .svg, .png or .txt.",
                )  # fmt: skip

    def _picture(self) -> Picture:
        shown = {(edge.source, edge.target): "" for edge in self.edges}
        for edge in self.edges:
            before = shown[edge.source, edge.target]
            shown[edge.source, edge.target] = f"{before} / {edge.label}" if before else edge.label
        stops = {state.name for state in self.states if state.kind is Kind.STOP}
        arrows = {ends: label for ends, label in shown.items() if ends[0] not in stops}
        nodes = [(state.name, _title(state.name), state.kind.value) for state in self.states]
        note = "" if self.within_ms is None else f"within {self.within_ms} ms"
        return laid_out(nodes, arrows, note)

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return self.text()


def drawn(automaton: Automaton, pattern: EventPattern) -> Drawing:
    """The picture of a pattern and the automaton it became."""
    states = _in_order(automaton)
    words = _words(pattern.parts)
    edges = [DrawnEdge(edge.action, state.name, edge.target.name, _worded(edge.condition, words))
             for state in states for edge in state.edges
             if not (state.kind is Kind.START and edge.action is Action.IGNORE)
             and edge.condition != Inverse(Always())]  # fmt: skip
    return Drawing(tuple(states), tuple(edges), automaton.within_ms)


def _title(name: str) -> str:
    """A state's name for readers: those of stages have no such sign in them."""
    return name.replace("$", "")


def _in_order(automaton: Automaton) -> list[State]:
    """The states that can be reached, the final and stopping ones last."""
    found = [automaton.start]
    for state in found:
        found += [target for target in dict.fromkeys(edge.target for edge in state.edges)
                  if target not in found]  # fmt: skip
    last = (Kind.FINAL, Kind.STOP)
    return sorted(found, key=lambda state: last.index(state.kind) + 1 if state.kind in last else 0)


def _words(parts: tuple[Part, ...]) -> dict[Test, str]:
    """Conditions by the stage they belong to; those of several stages by their own name."""
    names: dict[Test, list[str]] = {}
    for part in parts:
        if part.until is not None:
            _name_tests(part.until, "until", names)
    for stage in stages_of(parts):
        if stage.until is not None:
            _name_tests(stage.until, f"end of {stage.name}", names)
        _name_tests(stage.condition, stage.name, names)
    return {test: found[0] if len(found) == 1 else _own_name(test, found)
            for test, found in names.items()}  # fmt: skip


def _name_tests(condition: Condition, name: str, names: dict[Test, list[str]]) -> None:
    tests = list(dict.fromkeys(_tests(condition)))
    for number, test in enumerate(tests, 1):
        names.setdefault(test, []).append(name if len(tests) == 1 else f"{name}.{number}")


def _own_name(test: Test, stages: list[str]) -> str:
    own = getattr(test.function, "__name__", "<lambda>")
    return " or ".join(dict.fromkeys(stages)) if own.startswith("<") else str(own)


def _tests(condition: Condition) -> list[Test]:
    match condition:
        case Both(first, second) | Either(first, second):
            return [*_tests(first), *_tests(second)]
        case Inverse(inner):
            return _tests(inner)
        case Test():
            return [condition]
        case _:
            return []


def _worded(condition: Condition, words: dict[Test, str]) -> str:
    match condition:
        case Always():
            return ""
        case Both(first, second):
            return f"{_worded(first, words)} and {_worded(second, words)}"
        case Either(first, second):
            return f"({_worded(first, words)} or {_worded(second, words)})"
        case Inverse(inner):
            return f"not {_worded(inner, words)}"
        case Test():
            return words.get(condition, "condition")
