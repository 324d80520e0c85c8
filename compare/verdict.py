"""Compares two runs, and tells what differs that is not known to."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
KNOWN = HERE / "differences.toml"
ABSENT = "(not there)"
ENDLESS = {"endless": "yes"}
"""The outcome of a case that was given up."""
MORE_TO_DO = 75
"""The exit status of a run that another one is to go on with."""
_PRECISION = re.compile(r"TimestampType\(\d, ")

Outcomes = Mapping[str, Mapping[str, Any]]
"""The parts of each case's outcome, by the case's name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One part of one case that is not the same."""

    place: str  # "theme: case / part"
    theirs: str
    ours: str


@dataclass(frozen=True, slots=True)
class Known:
    """Places that may differ, and the reason as the page of differences has it."""

    places: tuple[str, ...]
    reason: str
    page: str

    def covers(self, place: str) -> Iterator[str]:
        return (pattern for pattern in self.places if fnmatchcase(place, pattern))


def read_known() -> list[Known]:
    """The differences that are known."""
    entries = tomllib.loads(KNOWN.read_text(encoding="utf-8")).get("difference", [])
    return [Known(tuple(e["places"]), e["reason"], e["page"]) for e in entries]


def read_outcomes(file: Path) -> dict[str, dict[str, Any]]:
    """The outcomes of a theme; none if there is no such file."""
    if not file.exists():
        return {}
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {line["case"]: line["outcome"] for line in lines}


def recorded_themes() -> list[str]:
    """The themes that PyFlink's outcomes are kept of."""
    return sorted(file.stem for file in RECORDED.glob("*.jsonl"))


def record(outcomes: Outcomes, file: Path) -> None:
    """Keep outcomes, one line for each case."""
    lines = [{"case": name, "outcome": outcome} for name, outcome in outcomes.items()]
    texts = [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def differences(theme: str, theirs: Outcomes, ours: Outcomes) -> list[Difference]:
    """What differs, for the cases that both have."""
    found = []
    for name in theirs.keys() & ours.keys():
        left, right = theirs[name], ours[name]
        for part in sorted(left.keys() | right.keys()):
            a, b = left.get(part, ABSENT), right.get(part, ABSENT)
            if not _agree(part, a, b):
                found.append(Difference(f"{theme}: {name} / {part}", _text(a), _text(b)))
    return sorted(found, key=lambda difference: difference.place)


def _agree(part: str, theirs: Any, ours: Any) -> bool:
    """Errors of Java have no class in Python that a program could have named."""
    if theirs == "raises" or (part == "error" and theirs == ABSENT):
        return str(ours).startswith("raises") or part == "error"
    return bool(_without_precision(theirs) == _without_precision(ours))


def _without_precision(part: Any) -> Any:
    """PyFlink shows a column of TIMESTAMP as one of precision 3, one of TIMESTAMP_LTZ as of 6."""
    if isinstance(part, list):
        return [_PRECISION.sub("TimestampType(", text) for text in part]
    return part


def _text(part: Any) -> str:
    return " | ".join(part) if isinstance(part, list) else str(part)


def unexpected(found: Iterable[Difference], known: Iterable[Known]) -> list[Difference]:
    """What differs and is not known to."""
    entries = list(known)
    return [d for d in found if not any(True for k in entries for _ in k.covers(d.place))]


def outlived(found: Iterable[Difference], known: Iterable[Known], themes: set[str]) -> list[str]:
    """Places that are said to differ and do not, of themes that were compared as a whole."""
    places = [difference.place for difference in found]
    return [
        pattern
        for entry in known
        for pattern in entry.places
        if pattern.partition(":")[0] in themes
        and not any(fnmatchcase(place, pattern) for place in places)
    ]
