"""Paths into JSON: `$.a[0]['b c'][*]..d[1:3][?(@.x > 1)].length()`, with `lax` or `strict` before.

A path is definite if it names at most one value; then that value is its result, and it is an
error if there is none. Others result in the list of what they find.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headrace.operators.functions import json_path_filter

_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"[^\s.\[\]()*]+(?: +[^\s.\[\]()*]+)*")
_CALL = re.compile(r"(\w+)\(\s*\)")
_QUOTED = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*(,|\])""", re.DOTALL)
_INDEXES = re.compile(r"\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]")
_SLICE = re.compile(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*\]")
_STAR = re.compile(r"\s*\*\s*\]")

Step = Callable[[Any], Iterable[Any]]


class PathError(ValueError):
    """A path that is none, or one that leads nowhere."""


@dataclass(frozen=True)
class JsonPath:
    lax: bool
    definite: bool
    steps: tuple[tuple[Step, bool], ...]
    """What each step finds below a value, and whether it names one thing only."""
    ending: Callable[[Any], Any] | None = None
    """The function at its end."""

    def read(self, document: Any) -> Any:
        """The value or the list of values; PathError where a definite step leads nowhere."""
        found: list[Any] = [document]
        upstream = True
        for step, single in self.steps:
            nodes = [node for value in found for node in step(value)]
            if upstream and single and not nodes:
                raise PathError("the path leads nowhere")
            upstream = upstream and single
            found = nodes
        result = found[0] if self.definite else found
        return result if self.ending is None else self.ending(result)


@lru_cache(maxsize=512)
def json_path(text: str) -> JsonPath:
    """Without a mode it is strict."""
    mode = _MODE.fullmatch(text)
    lax = mode is not None and mode[1].lower() == "lax"
    return _Reader((mode[2] if mode else text).strip()).path(lax)


class _Reader:
    def __init__(self, text: str):
        self._text = text if text.startswith(("$", "@")) else f"$.{text}"
        self._at = 1
        self._steps: list[tuple[Step, bool]] = []
        self._ending: Callable[[Any], Any] | None = None

    def path(self, lax: bool) -> JsonPath:
        while self._at < len(self._text):
            if self._ending is not None:
                raise self._invalid()
            self._step()
        definite = all(single for _step, single in self._steps)
        return JsonPath(lax, definite, tuple(self._steps), self._ending)

    def _invalid(self) -> PathError:
        return PathError(f"the JSON path {self._text!r} is invalid at character {self._at + 1}")

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _step(self) -> None:
        if self._text.startswith("..", self._at):
            self._at += 2
            self._steps.append((_deep, False))
            if self._text[self._at : self._at + 1] != "[":
                self._named()
        elif self._text[self._at] == ".":
            self._at += 1
            if self._text[self._at : self._at + 1] != "[":
                self._named()
        elif self._text[self._at] == "[":
            self._at += 1
            self._bracket()
        else:
            raise self._invalid()

    def _named(self) -> None:
        if self._text[self._at : self._at + 1] == "*":
            self._at += 1
            self._steps.append((_children, False))
        elif call := self._matched(_CALL):
            if call[1] not in _ENDINGS:
                raise self._invalid()
            self._ending = _ENDINGS[call[1]]
        elif name := self._matched(_NAME):
            self._steps.append((_property(name[0]), True))
        else:
            raise self._invalid()

    def _bracket(self) -> None:
        if self._matched(_STAR):
            self._steps.append((_children, False))
        elif indexes := self._matched(_INDEXES):
            wanted = [int(index) for index in indexes[1].split(",")]
            self._steps.append((_elements(wanted), len(wanted) == 1))
        elif bounds := self._matched(_SLICE):
            part = slice(*(int(bound) if bound else None for bound in bounds.groups()))
            self._steps.append((lambda node: node[part] if isinstance(node, list) else (), False))
        elif self._text[self._at :].lstrip().startswith("?"):
            self._filter()
        else:
            self._properties()

    def _properties(self) -> None:
        names: list[str] = []
        while True:
            found = self._matched(_QUOTED)
            if found is None:
                raise self._invalid()
            names.append(re.sub(r"\\(.)", r"\1", found[1] if found[1] is not None else found[2]))
            if found[3] == "]":
                break
        if len(names) == 1:
            self._steps.append((_property(names[0]), True))
        else:
            self._steps.append((_selection(names), False))

    def _filter(self) -> None:
        self._at = self._text.index("?", self._at) + 1
        try:
            test, self._at = json_path_filter.parsed(
                self._text, self._at, lambda text: json_path(text)
            )
        except json_path_filter.InvalidFilter as error:
            raise PathError(f"the JSON path {self._text!r} is invalid: {error}") from None

        def passing(node: Any) -> Iterator[Any]:
            for value in node if isinstance(node, list) else [node]:
                if isinstance(node, list | dict) and test(value):
                    yield value

        self._steps.append((passing, False))


def _property(name: str) -> Step:
    def step(node: Any) -> tuple[Any, ...]:
        return (node[name],) if isinstance(node, dict) and name in node else ()

    return step


def _selection(names: list[str]) -> Step:
    def step(node: Any) -> tuple[Any, ...]:
        return (
            ({name: node[name] for name in names if name in node},)
            if isinstance(node, dict)
            else ()
        )

    return step


def _elements(wanted: list[int]) -> Step:
    def step(node: Any) -> list[Any]:
        if not isinstance(node, list):
            return []
        return [node[index] for index in wanted if -len(node) <= index < len(node)]

    return step


def _children(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def _deep(node: Any) -> Iterator[Any]:
    """The value and everything below it, which the next step is applied to."""
    yield node
    for child in _children(node):
        yield from _deep(child)


def _numbers(value: Any) -> list[Any]:
    numbers = (
        [item for item in value if isinstance(item, int | Decimal)]
        if isinstance(value, list)
        else []
    )
    if not numbers:
        raise PathError("a function of numbers is applied to something else")
    return numbers


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, list | dict | str) else None


_ENDINGS: dict[str, Callable[[Any], Any]] = {
    "length": _length,
    "size": _length,
    "min": lambda value: float(min(_numbers(value))),
    "max": lambda value: float(max(_numbers(value))),
    "sum": lambda value: float(sum(_numbers(value))),
    "avg": lambda value: float(sum(_numbers(value))) / len(_numbers(value)),
    "keys": lambda value: list(value) if isinstance(value, dict) else None,
    "first": lambda value: value[0] if isinstance(value, list) and value else None,
    "last": lambda value: value[-1] if isinstance(value, list) and value else None,
}
