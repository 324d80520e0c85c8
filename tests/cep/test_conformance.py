"""Flink's own pattern cases, in process: by the automaton alone, and as streams."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import partial
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.operators.cep.compiler import compiled
from headrace.operators.cep.nfa import Nfa
from headrace.operators.cep.shared_buffer import Matches, events_by_stage
from headrace.testing import OperatorHarness
from tests.cep.cases import (
    Case,
    cases,
    event_of,
    events_of,
    expected_matches,
    flat,
    named,
    named_as_written,
    pattern_of,
    times_of,
)
from tests.cep.streams import TIMED_OUT, as_written, delay_of, matching

Found = dict[str, list[Any]]


def run(case: Case, *, restoring: bool) -> tuple[list[Found], list[tuple[Found, int]]]:
    """What an automaton finds; its state is written and read again after every event."""
    nfa = _nfa(case)
    matches, found, timed_out = Matches(), [], []
    for event, time in zip(events_of(case), times_of(case), strict=True):
        ended, expired = nfa.advance(matches, time)
        found += [events_by_stage(last) for last, _ in ended]
        timed_out += [(events_by_stage(last), at) for last, at in expired]
        found += [events_by_stage(last) for last in nfa.process(matches, event, time)]
        if restoring:
            stored = pickle.loads(pickle.dumps(matches.pack(nfa.names)))
            nfa = _nfa(case)
            matches = Matches()
            matches.unpack(stored, nfa.numbers)
    return found, timed_out


def _nfa(case: Case) -> Nfa:
    return Nfa(compiled(pattern_of(case["pattern"], case["after_match_skip"]).plan()), lambda: 0)


@pytest.mark.parametrize("restoring", [False, True], ids=["", "restored after every event"])
@pytest.mark.parametrize("case", cases("nfa"))
def test_automaton(case: Case, restoring: bool) -> None:
    if "expect_error" in case:
        with pytest.raises(Exception, match="skip"):
            run(case, restoring=restoring)
        return
    found, timed_out = run(case, restoring=restoring)
    expected = expected_matches(case)
    if expected is not None:
        assert Counter(map(flat, found)) == expected
    if "observed_named" in case:
        written = Counter(map(named_as_written, case["observed_named"]))
        assert Counter(map(named, found)) == written
    if "expected_match_count" in case:
        assert len(found) == case["expected_match_count"]
    if "expected_key_order" in case:
        assert [list(match) for match in found] == [case["expected_key_order"]]
    if "expected_timeouts" in case:
        events = events_of(case)
        written = Counter(
            (_named_by_index(entry["match"], events), entry["timeout_ts"])
            for entry in case["expected_timeouts"]
        )
        assert Counter((named(match), at) for match, at in timed_out) == written


def _named_by_index(match: Case, events: list[Any]) -> Any:
    return named({name: [events[at] for at in places] for name, places in match.items()})


@pytest.mark.parametrize("case", cases("nfa"))
def test_automaton_as_stream(case: Case) -> None:
    """Events wait for the watermark; everything but the state is lost after each of them."""
    if case.get("timestamps_not_sorted"):
        pytest.skip("a stream sorts events by their time")
    with OperatorHarness(partial(matching, case)) as harness:
        if "expect_error" in case:
            with pytest.raises(HeadraceError, match="skip"):
                _drive(harness, case)
            return
        _drive(harness, case)
        found = harness.take_outputs()
        expected = expected_matches(case)
        if expected is not None:
            assert Counter(map(flat, found)) == expected
        if "observed_named" in case:
            written = Counter(map(named_as_written, case["observed_named"]))
            assert Counter(map(named, found)) == written


def _drive(harness: OperatorHarness, case: Case) -> None:
    times = times_of(case)
    for event, time in zip(events_of(case), times, strict=True):
        harness.send(event, time)
        harness.advance_watermark(time - 1)
        harness.crash()
    harness.advance_watermark(times[-1])


@pytest.mark.parametrize("crashing", [False, True], ids=["", "restored after every event"])
@pytest.mark.parametrize("case", cases("stream"))
def test_stream(case: Case, crashing: bool) -> None:
    with OperatorHarness(partial(matching, case)) as harness:
        for step in _steps(case):
            if "watermark" in step:
                harness.advance_watermark(max(step["watermark"], harness.watermark))
            else:
                harness.send(step["event"], step["ts"])
            if crashing:
                harness.crash()
        if "steps" not in case:
            harness.finish()
        assert Counter(harness.take_outputs()) == Counter(as_written(case["expected_output"]))
        timed_out = harness.take_side_output(TIMED_OUT)
        if "expected_timeout_output" in case:
            assert Counter(timed_out) == Counter(as_written(case["expected_timeout_output"]))
        if "expected_timeouts" in case:
            written = [(named_as_written(entry["match"]), entry["timeout_ts"])
                       for entry in case["expected_timeouts"]]  # fmt: skip
            assert [(named(match), time) for match, time in timed_out] == written


def _steps(case: Case) -> list[Case]:
    if "steps" in case:
        return [step if "watermark" in step else {**step, "event": event_of(step["event"])}
                for step in case["steps"]]  # fmt: skip
    if case["time"] == "processing":
        return [{"event": event, "ts": None} for event in events_of(case)]
    found = []
    for event, time in zip(events_of(case), times_of(case), strict=True):
        found += [{"event": event, "ts": time}, {"watermark": time - delay_of(case)}]
    return found
