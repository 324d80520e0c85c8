"""Functions that know where a query runs; the resolver hands over what they need."""

from __future__ import annotations

from headrace.core.logical_types import STRING
from headrace.sql.functions.parameters import TEXT, literal
from headrace.sql.functions.row import FunctionRow, example, signature

FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("CURRENT_DATABASE",),
        doc="The name of the current database, which the resolver hands over as the argument.",
        signatures=(signature(literal(TEXT)),),
        result=STRING,
        meaning=str,
        inline="{0}",
        spark="{0}",
        examples=(example("default_database", gives="default_database"),),
    ),
)
