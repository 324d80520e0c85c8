"""SQL on a savepoint: every state is a table."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.logger import PySparkLogger

from headrace.errors import InvalidArgument
from headrace.runtime.state_rows import KEYED
from headrace.runtime.subtask_state import TIMERS
from headrace.spark.savepoints.metadata import SavedState
from headrace.state.reader import SavepointReader

__all__ = ["query", "table_names"]


def table_names(states: Sequence[SavedState]) -> dict[tuple[str, str, str], str]:
    """A table name for each state by operator, name and scope: `<uid>_<name>`."""
    found: dict[tuple[str, str, str], str] = {}
    taken: Counter[str] = Counter()
    for state in sorted(states, key=lambda state: (state.operator, state.name, state.form.scope)):
        short = "timers" if state.form.kind == TIMERS else state.name
        text = f"{state.operator}_{short}"
        if state.form.scope != KEYED and state.form.kind != TIMERS and _is_shared(state, states):
            text += f"_{state.form.scope}"
        name = re.sub(r"\W+", "_", text).strip("_").lower()
        taken[name] += 1
        found[_identity(state)] = name if taken[name] == 1 else f"{name}_{taken[name]}"
    return found


def _identity(state: SavedState) -> tuple[str, str, str]:
    return state.operator, state.name, state.form.scope


def _is_shared(state: SavedState, states: Sequence[SavedState]) -> bool:
    return sum((each.operator, each.name) == (state.operator, state.name) for each in states) > 1


def query(reader: SavepointReader, text: str) -> pa.Table:
    """The answer to a query of Spark's SQL; tables are also found as "uid"."name"."""
    names = table_names(reader.metadata.states)
    for (uid, state, scope), name in names.items():
        reader.state(uid, state, scope).createOrReplaceTempView(name)
        for quote in '"`':
            text = text.replace(f"{quote}{uid}{quote}.{quote}{state}{quote}", f"`{name}`")
    # What Spark logs of a query with a mistake, all of its frames, says no more than the error.
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    try:
        return reader.spark.sql(text).toArrow()
    except (AnalysisException, ParseException) as error:
        listed = ", ".join(sorted(names.values())) or "none: the savepoint holds no state"
        why = str(error).strip().splitlines()[0].partition(" SQLSTATE")[0]
        raise InvalidArgument(
            f"the query cannot be answered: {why}", hint=f"Tables: {listed}."
        ) from None
