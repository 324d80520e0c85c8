"""Patterns of rows."""

from __future__ import annotations

from headrace.graph.relations import MatchRecognize
from headrace.operators.table.match_recognize import MatchRecognizeOperator
from headrace.operators.table.row_pattern_operator import RowPatternOperator
from headrace.table.lowering.lowering import Lowering


def match_recognize(lowering: Lowering, relation: MatchRecognize) -> int:
    types = relation.input.types
    partition = relation.pattern.partition
    keyed = lowering.by_columns(lowering.node(relation.input), partition, types, "PARTITION BY")
    kind = MatchRecognizeOperator if relation.pattern.term is None else RowPatternOperator
    operator = kind(relation.pattern, types)
    return lowering.operator("Match", (keyed,), operator, None if partition else 1)
