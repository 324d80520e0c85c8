"""The matcher that tries everything finds in our own cases what is recorded."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.cases.loading import EXPECTED, Case, pattern_events, stream_cases
from tests.cep.naive import ANY, RELAXED, STRICT, Stage, matches

_CONTIGUITY = {"begin": RELAXED, "next": STRICT, "followedBy": RELAXED, "followedByAny": ANY}
_LOOPS = {"consecutive": {"inner": STRICT}, "allowCombinations": {"inner": ANY},
          "optional": {"optional": True}, "oneOrMore": {"least": 1, "most": 99}}  # fmt: skip


def stages_of(case: Case) -> tuple[list[str], list[Stage], int | None]:
    """The names of a pattern's stages, what each takes, and the time for all."""
    names: list[str] = []
    parts: list[dict[str, Any]] = []
    forbidden, forbids, within = "", False, None
    for operation in case["pattern"]:
        word, _, rest = operation.partition(" ")
        numbers = [int(each) for each in re.findall(r"\d+", rest)]
        if word in _CONTIGUITY:
            names.append(rest)
            parts.append({"contiguity": _CONTIGUITY[word], "forbidden": forbidden})
            forbidden = ""
        elif word == "notFollowedBy":
            forbids = True
        elif word == "where":
            letter = rest.removeprefix("ev.name == ").strip("'")
            if forbids:
                forbidden, forbids = letter, False
            else:
                parts[-1]["letters"] = letter
        elif word == "within":
            within = numbers[0]
        elif word in ("times", "timesOrMore"):
            parts[-1] |= {"least": numbers[0], "most": 99 if word != "times" else numbers[-1]}
        else:
            parts[-1] |= _LOOPS[word]
    return names, [Stage(**part) for part in parts], within


@pytest.mark.parametrize("case", stream_cases("cep"), ids=lambda case: case["id"])
def test_like_a_naive_matcher(case: Case) -> None:
    names, stages, within = stages_of(case)
    events = pattern_events(case)
    letters = "".join(name[0] if name != "end" else "." for name, *_ in events)
    found = []
    for match in matches(stages, letters, [time for *_, time in events], within):
        told: dict[str, list[int]] = {}
        for at, stage in match:
            told.setdefault(names[stage], []).append(events[at][1])
        found.append(f"match {json.dumps(told)}")
    recorded = json.loads(EXPECTED.read_text(encoding="utf-8"))[case["id"]]
    assert sorted(found) == sorted(recorded)
    assert found
