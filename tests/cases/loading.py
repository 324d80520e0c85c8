"""The cases of this folder in the form that runners take. Nothing of headrace is used here: the
program that records what Flink gives reads the same cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

Case = dict[str, Any]
FOLDER = Path(__file__).resolve().parent
EXPECTED = FOLDER / "expected.json"


def written(name: str) -> list[Case]:
    """The cases of a file, without what they give."""
    content = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    tables = {table: _table(table, about) for table, about in content.get("tables", {}).items()}
    found = [_case(name, each, tables) for each in content.get("cases", ())]
    return found + [
        _case(name, {"id": group, "sql": _query(parts, next(iter(tables)))}, tables)
        for group, parts in content.get("groups", {}).items()
    ]


def expressions(name: str) -> list[str]:
    """The expressions of a file, one by one."""
    content = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return [str(text) for parts in content["groups"].values() for text in parts]


def cases(name: str) -> list[Case]:
    """The cases of a file with what Flink gives for each."""
    recorded = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return [{**case, "expected": recorded[case["id"]]} for case in written(name)]


def one_set(found: list[Case]) -> list[Case]:
    """Of all cases those that run on Spark, which is dear: our own cover the same ground as those
    beside the repository, and run where these are absent."""
    return [case for case in found if not case["id"].startswith("own/")] or found


def _case(name: str, given: Case, tables: dict[str, Case]) -> Case:
    used = [table for table in tables if table in given["sql"]]
    return {
        "mode": "streaming", **given, "id": f"own/{name}/{given['id'].replace(' ', '-')}",
        "tables": [tables[table] for table in used],
    }  # fmt: skip


def _query(expressions: list[str], table: str) -> str:
    """Each expression's value and type, for every row."""
    columns = ", ".join(f"{text}, TYPEOF({text})" for text in map(str, expressions))
    return f"SELECT id, {columns} FROM {table}"


def _table(name: str, about: Case) -> Case:
    rows = [{"kind": "+I", "row": row} for row in about.get("rows", ())]
    rows += [{"kind": kind, "row": row} for kind, *row in about.get("changes", ())]
    return {"name": name, "schema": about["schema"], "rows": rows}


# Windows of streams.

_LAST = 2**63 - 1


def windows() -> list[Case]:
    """The cases of windows, with everything that comes of each expected at its end."""
    recorded = json.loads(EXPECTED.read_text(encoding="utf-8"))
    found: list[Case] = []
    for case in stream_cases("windows"):
        lines = recorded[case["id"]]
        found += _facts(case, lines) if "times" in case else [_window_case(case, lines)]
    return found


def stream_cases(name: str) -> list[Case]:
    """The cases of a file about streams as they are written."""
    content = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return [{**case, "id": f"own/{name}/{case['id'].replace(' ', '-')}"}
            for case in (*content["cases"], *content.get("assigners", ()))]  # fmt: skip


def _facts(case: Case, lines: list[str]) -> list[Case]:
    """What windows an assigner names, and where the one of each size and offset begins."""
    assigner, told = case["assigner"], [json.loads(line) for line in lines]
    size, offset = assigner.get("size_ms", 1000), assigner.get("offset_ms", 0)
    windows = [{"ts": time, "windows": sorted(spans)} for time, spans, _ in told]
    starts = [{"ts": time, "offset": offset, "size": size, "start": start}
              for time, _, start in told]  # fmt: skip
    return [
        {"id": case["id"], "kind": "assigner", "assigner": assigner, "facts": windows},
        {"id": f"{case['id']}-start", "kind": "window_start", "facts": starts},
    ]


def _window_case(case: Case, lines: list[str]) -> Case:
    parts = {key: case[key] for key in case.keys() - {"id", "steps", "function"}}
    function = case["function"] if case["function"] == "reduce" else "window.start, window.end"
    steps = [_step(each) for each in (*case["steps"], _LAST)]
    steps += [{"expect": _told("pane", lines)}, {"expect_late": _told("late", lines)}]
    usual = {"trigger": {"type": "event_time"}, "lateness_ms": 0}
    config = {**usual, **parts, "function": function}
    return {"id": case["id"], "kind": "operator", "config": config, "steps": steps}


def _step(step: Any) -> Case:
    if isinstance(step, int):
        return {"watermark": step}
    key, number, time = step
    return {"element": [key, number], "ts": time}


def _told(kind: str, lines: list[str]) -> list[Any]:
    return [json.loads(line.removeprefix(f"{kind} ")) for line in lines if line.startswith(kind)]


# Patterns.

_FAR_AWAY = ["end", 0, 3_600_000]


def pattern_events(case: Case) -> list[Any]:
    return [*case["events"], _FAR_AWAY]


def patterns() -> list[Case]:
    """The cases of patterns with their matches, and as streams where a match is a pair."""
    recorded = json.loads(EXPECTED.read_text(encoding="utf-8"))
    found = [_pattern_case(case, recorded[case["id"]]) for case in stream_cases("cep")]
    return found + [_selected(case) for case in found if _has_pairs(case)]


def _has_pairs(case: Case) -> bool:
    stages = [set(match) == {"a", "b"} for match in case.get("observed", ())]
    return bool(stages) and all(stages) and all(len(each) == 2 for each in case["expected"])


def _selected(case: Case) -> Case:
    """The same as a stream whose results are the two events' numbers."""
    return {
        **{key: case[key] for key in ("pattern", "after_match_skip", "events")},
        "id": f"{case['id']}-selected", "kind": "stream", "time": "event", "watermark": "ts - 1",
        "select": [["a", 0, "id"], ["b", 0, "id"]],
        "expected_output": [[match["a"][0], match["b"][0]] for match in case["observed"]],
    }  # fmt: skip


def _pattern_case(case: Case, lines: list[str]) -> Case:
    about = {
        "id": case["id"], "kind": "nfa", "pattern": [_operation(each) for each in case["pattern"]],
        "after_match_skip": case.get("skip"),
    }  # fmt: skip
    events = [{"type": "Event", "id": at, "name": name, "price": price, "ts": time}
              for at, (name, price, time) in enumerate(pattern_events(case))]  # fmt: skip
    at_price = {event["price"]: event["id"] for event in events}
    matches = [_by_place(line.removeprefix("match "), at_price) for line in lines]
    expected = [[at for places in match.values() for at in places] for match in matches]
    return {**about, "events": events, "observed": matches, "expected": expected}


def _by_place(text: str, at_price: dict[int, int]) -> dict[str, list[int]]:
    """Matches tell events by their price."""
    return {name: [at_price[price] for price in prices]
            for name, prices in json.loads(text).items()}  # fmt: skip


def _operation(text: str) -> Case:
    op, _, rest = text.partition(" ")
    match op:
        case "where" | "or" | "until":
            return {"op": op, "cond": rest}
        case "within":
            return {"op": op, "ms": int(rest)}
        case "times" | "timesOrMore":
            numbers = [int(word) for word in rest.split()]
            if len(numbers) == 1:
                return {"op": op, "n": numbers[0]}
            return {"op": op, "from": numbers[0], "to": numbers[1]}
    return {"op": op, "name": rest} if rest else {"op": op}
