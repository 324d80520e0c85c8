"""Looking into the state of a running job, as of its last committed micro-batch."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from headrace.core.keys import key_group, subtask_of
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin
from headrace.runtime.packed_changes import unpacked
from headrace.runtime.pickling import dumps
from headrace.runtime.state_rows import BROADCAST, KEYED, WINDOW, scope_and_name
from headrace.runtime.state_transfer import SlotState, slot_states
from headrace.runtime.subtask_state import TIMERS_NAME, SubtaskState
from headrace.spark.failures import reported
from headrace.spark.file_store import FileStore
from headrace.spark.flow.state_entries import HEAD
from headrace.spark.savepoints.checkpoint import Checkpoint
from headrace.spark.savepoints.outside import at_last_checkpoint
from headrace.spark.savepoints.unload import pieces
from headrace.spark.savepoints.writer import rows_in, states_in
from headrace.spark.worker import ArrowFunction

_CHOSEN_FIRST = (KEYED, WINDOW, BROADCAST)
"""Of states that share a name, the one that has the key asked for."""


def query_key(
    spark: SparkSession, run: FileStore, uid: str, name: str, key: Any, held: int | None = None
) -> Any:
    """What a state holds for one key: only the slot of the key is read.

    `held`: as `at_last_checkpoint` has it.
    """

    def read(checkpoint: Checkpoint) -> Any:
        operator = _operator(checkpoint, uid)
        slots, limit = checkpoint.parallelism, operator["max_parallelism"]
        group = key_group(key, limit)
        slot = subtask_of(group, min(operator["parallelism"], slots), limit)
        mine = checkpoint.entries_of(operator["level"], slot).repartition(1)
        ordered = mine.sortWithinPartitions("entry").select("entry", "blob")
        [row] = ordered.mapInArrow(_look_up(uid, name, key), "found binary").collect()
        return pickle.loads(bytes(row.found))

    names, found = at_last_checkpoint(spark, run, read, held)
    if names is not None:
        raise _no_state(uid, name, names)
    return found


def state_frame(
    spark: SparkSession, run: FileStore, uid: str, name: str, held: int | None = None
) -> DataFrame:
    """All rows of a state, in the form of a savepoint; they stay as they are from now on."""

    def read(checkpoint: Checkpoint) -> DataFrame:
        operator = _operator(checkpoint, uid)
        limit = operator["max_parallelism"]
        entries = checkpoint.entries(operator["level"])
        found = pieces(entries, checkpoint.parallelism, {uid: limit})
        mine = found.filter(col("operator") == lit(uid)).persist()
        try:
            states = states_in(mine)
            chosen = [state for state in states if state.name == name]
            if not chosen:
                raise _no_state(uid, name, [state.name for state in states])
            chosen.sort(key=lambda state: _rank(state.form.scope))
            return rows_in(mine, chosen[0], limit).localCheckpoint()
        finally:
            mine.unpersist()

    return at_last_checkpoint(spark, run, read, held)


def _operator(checkpoint: Checkpoint, uid: str) -> dict[str, Any]:
    operators: list[dict[str, Any]] = checkpoint.plan["operators"]
    for operator in operators:
        if operator["uid"] == uid and operator["level"] > 0:
            return operator
    known = ", ".join(repr(each["uid"]) for each in operators if each["level"] > 0)
    there = any(each["uid"] == uid for each in operators)
    raise InvalidArgument(
        f"operator {uid!r} {'keeps no state' if there else 'is not part of the job'}",
        origin=calling_origin(), hint=f"Operators that may: {known or 'none'}.",
    )  # fmt: skip


def _no_state(uid: str, name: str, names: Iterable[str]) -> InvalidArgument:
    listed = ", ".join(map(repr, sorted(set(names) - {TIMERS_NAME})))
    return InvalidArgument(
        f"operator {uid!r} holds no state {name!r}", origin=calling_origin(),
        hint=f"It holds: {listed}." if listed else "It holds nothing yet.",
    )  # fmt: skip


def _look_up(uid: str, name: str, key: Any) -> ArrowFunction:
    wanted = dumps(key)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            state = SubtaskState(logged=False, clock=lambda: 0)
            head: dict[str, Any] = {"states": {}, "slot": 0}
            for rows in batches:
                columns = (rows.column(n).to_pylist() for n in range(2))
                for entry, blob in zip(*columns, strict=True):
                    if entry == HEAD:
                        head = pickle.loads(blob)
                    else:
                        state.apply(unpacked(blob, operator=uid))
            mine = [each for each in slot_states(state, head["states"], head["slot"])
                    if each.operator == uid]  # fmt: skip
            known = {scope_and_name(stored)[1] for owner, stored in head["states"] if owner == uid}
            answer = dumps(_answer(mine, name, pickle.loads(wanted), known))
            yield pa.RecordBatch.from_pydict({"found": pa.array([answer], pa.binary())})

    return run


def _answer(
    states: list[SlotState], name: str, key: Any, known: set[str]
) -> tuple[set[str] | None, Any]:
    """The names there are, if none of them is the one asked for; and what was found."""
    chosen = sorted((each for each in states if each.name == name),
                    key=lambda each: _rank(each.scope))  # fmt: skip
    if not chosen:
        # A slot that has had no records yet knows nothing of its states.
        return known if known and name not in known else None, None
    state = chosen[0]
    ttl = state.declared is not None and state.declared.ttl
    data = state.table.data
    if state.scope == WINDOW:
        return None, {window: _plain(state.table.kind, ttl, stored)
                      for (its_key, window), stored in data.items() if its_key == key}  # fmt: skip
    stored = data.get(key if state.scope == KEYED else None)
    if state.scope == BROADCAST:
        return None, (stored or {}).get(key)
    return None, None if stored is None else _plain(state.table.kind, ttl, stored)


def _plain(kind: str, ttl: bool, stored: Any) -> Any:
    """What the program would get, without the times it was last made young."""
    if kind == "map":
        return {name: value[1] if ttl else value for name, value in stored.items()}
    if kind == "list":
        return [value[1] if ttl else value for value in stored]
    return stored[1] if ttl else stored


def _rank(scope: str) -> int:
    return _CHOSEN_FIRST.index(scope) if scope in _CHOSEN_FIRST else len(_CHOSEN_FIRST)
