"""Finding patterns in streams of events."""

from headrace.cep.after_match import AfterMatchSkipStrategy
from headrace.cep.conditions import IterativeCondition, SimpleCondition
from headrace.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from headrace.cep.pattern import GroupPattern, Pattern, WithinType
from headrace.cep.pattern_stream import CEP, PatternStream

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "GroupPattern",
    "IterativeCondition",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
