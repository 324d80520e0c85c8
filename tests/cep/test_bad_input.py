"""Patterns that have no meaning are refused where they are written, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternStream, WithinType
from headrace.common import Time
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.errors import HeadraceError, InvalidArgument, TypeMismatch, Unsupported


def is_a(event: Any) -> bool:
    return bool(event == "a")


def begin(name: str = "a") -> Pattern:
    return Pattern.begin(name).where(is_a)


def stream() -> PatternStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return CEP.pattern(env.from_collection(["a"]).key_by(is_a), begin())


SKIP_TO_B = AfterMatchSkipStrategy.skip_to_first("b")
WRONG: dict[str, tuple[Callable[[], Any], type[HeadraceError], str]] = {
    "the same name twice": (
        lambda: begin().next("a").plan(), InvalidArgument, "two stages .* called 'a'"),
    "the same name in a group": (
        lambda: begin().next(begin()).plan(), InvalidArgument, "two stages .* called 'a'"),
    "an end that never comes": (
        lambda: begin().not_followed_by("b").plan(), InvalidArgument, "no time limit"),
    "until without a loop": (
        lambda: begin().times(2).until(is_a), InvalidArgument, "does not go on for ever"),
    "until twice": (
        lambda: begin().one_or_more().until(is_a).until(is_a), InvalidArgument, "already"),
    "two quantifiers": (
        lambda: begin().one_or_more().times(2), InvalidArgument, "quantifier already"),
    "no events": (lambda: begin().times(0), InvalidArgument, "asked for 0 events"),
    "fewer than at least": (lambda: begin().times(3, 2), InvalidArgument, "3 to 2"),
    "a number that is none": (lambda: begin().times("2"), TypeMismatch, "whole number"),  # type: ignore[arg-type]
    "greedy single": (lambda: begin().greedy(), InvalidArgument, "takes a single event"),
    "greedy group": (
        lambda: Pattern.begin(begin()).one_or_more().greedy(), InvalidArgument, "group"),
    "greedy combinations": (
        lambda: begin().one_or_more().allow_combinations().greedy(), InvalidArgument, "greedy"),
    "combinations of greed": (
        lambda: begin().one_or_more().greedy().allow_combinations(), InvalidArgument, "greedy"),
    "consecutive single": (lambda: begin().consecutive(), InvalidArgument, "single event"),
    "consecutive combinations": (
        lambda: begin().one_or_more().consecutive().allow_combinations(), InvalidArgument,
        "already"),
    "optional twice": (lambda: begin().optional().optional(), InvalidArgument, "already"),
    "optional after greedy": (
        lambda: begin().one_or_more().greedy().next("b").optional(), InvalidArgument,
        "after a greedy stage"),
    "optional not": (
        lambda: begin().not_next("b").optional(), InvalidArgument, "must not occur"),
    "repeated not": (
        lambda: begin().not_next("b").one_or_more(), InvalidArgument, "must not occur"),
    "not after optional": (
        lambda: begin().optional().not_followed_by("b"), Unsupported, "after an optional stage"),
    "where on a group": (
        lambda: Pattern.begin(begin()).where(is_a), Unsupported, "group"),
    "a loop of nothing": (
        lambda: Pattern.begin("x").next(begin().optional()).one_or_more().plan(), InvalidArgument,
        "only optional parts"),
    "skip to nowhere": (
        lambda: Pattern.begin("a", SKIP_TO_B).plan(), InvalidArgument, "no stage 'b'"),
    "skip to what must not be": (
        lambda: Pattern.begin("a", SKIP_TO_B).not_next("b").next("c").plan(), InvalidArgument,
        "no stage 'b'"),
    "a miss without a stage": (
        AfterMatchSkipStrategy.no_skip().throw_exception_on_miss, InvalidArgument, "no stage"),
    "no strategy": (lambda: Pattern.begin("a", "next"), TypeMismatch, "AfterMatchSkip"),  # type: ignore[arg-type]
    "no name": (lambda: Pattern.begin(""), TypeMismatch, "name of a stage"),
    "no condition": (lambda: begin().where("a"), TypeMismatch, "needs a condition"),  # type: ignore[arg-type]
    "a condition of three": (
        lambda: begin().where(lambda a, b, c: True), TypeMismatch, "takes 3 arguments"),  # type: ignore[arg-type, misc]
    "no class": (lambda: begin().subtype("a"), TypeMismatch, "needs a class"),  # type: ignore[arg-type]
    "no time": (lambda: begin().within(5), TypeMismatch, "no amount of time"),  # type: ignore[arg-type]
    "no time at all": (lambda: begin().within(Time.seconds(0)), InvalidArgument, "0 ms"),
    "a gap longer than the match": (
        lambda: begin().next("b").within(Time.seconds(2), WithinType.PREVIOUS_AND_CURRENT)
        .within(Time.seconds(1)).plan(), InvalidArgument, "2000 ms after the event before"),
    "no stream": (lambda: CEP.pattern("a", begin()), TypeMismatch, "DataStream"),  # type: ignore[arg-type]
    "no pattern": (
        lambda: CEP.pattern(stream()._stream, "a"), TypeMismatch, "Pattern"),  # type: ignore[arg-type]
    "no comparator": (
        lambda: CEP.pattern(stream()._stream, begin(), 3), TypeMismatch, "comparator"),  # type: ignore[arg-type]
    "a tag alone": (
        lambda: stream().select(len, timeout_tag=OutputTag("t")), InvalidArgument,
        "timeout_tag was given alone"),
    "a timeout alone": (
        lambda: stream().select(len, timeout_function=lambda m, t: m), InvalidArgument, "alone"),
    "process a lambda": (lambda: stream().process(len), TypeMismatch, "PatternProcess"),  # type: ignore[arg-type]
    "no partial matches": (
        lambda: stream().max_partial_matches(0), InvalidArgument, "max_partial_matches"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str) -> None:
    write, kind, words = WRONG[name]
    with pytest.raises(kind, match=words) as caught:
        write()
    assert caught.value.hint
    assert "test_bad_input.py" in str(caught.value.origin)
