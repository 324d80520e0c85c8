"""New savepoints out of DataFrames, or out of other savepoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from headrace.core.columnar import type_to_json
from headrace.core.keys import DEFAULT_MAX_PARALLELISM
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.state_rows import KEYED, LIST, UNION, WINDOW
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from headrace.spark.file_store import FileStore, file_store
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata, state_folder
from headrace.spark.savepoints.writer import checksums, require_free
from headrace.spark.session import get_session
from headrace.state.catalog import find_state, unknown_operator
from headrace.state.reader import SavepointReader, read_savepoint
from headrace.state.rows import Given, StateRows, state_rows

__all__ = ["SavepointWriter"]


@dataclass(frozen=True)
class _Piece:
    """A state of the new savepoint, and where its rows come from."""

    state: SavedState
    frame: DataFrame
    is_new: bool


class SavepointWriter:
    """Collects what a savepoint shall hold; `write` makes it. Each method returns the writer."""

    def __init__(
        self, spark: SparkSession, metadata: SavepointMetadata, pieces: list[_Piece],
        max_parallelism: int,
    ):  # fmt: skip
        self._spark = spark
        self._metadata = metadata
        self._pieces = pieces
        self._max_parallelism = max_parallelism

    @staticmethod
    def new(
        max_parallelism: int = DEFAULT_MAX_PARALLELISM, spark: SparkSession | None = None
    ) -> SavepointWriter:
        """An empty savepoint, for a job that has not run yet."""
        metadata = SavepointMetadata({"id": "", "name": "bootstrapped"}, 0, 1, [])
        return SavepointWriter(spark or get_session(), metadata, [], max_parallelism)

    @staticmethod
    def from_existing(
        path: str | Path, spark: SparkSession | None = None, *, scratch: str | None = None
    ) -> SavepointWriter:
        """Everything a savepoint or a checkpoint holds, to be changed."""
        reader = read_savepoint(path, spark, scratch=scratch)
        pieces = [_Piece(state, _frame(reader, state), False) for state in reader.metadata.states]
        metadata = replace(reader.metadata, files={}, created="",
                           operators=list(reader.metadata.operators))  # fmt: skip
        most = max((each["max_parallelism"] for each in metadata.operators),
                   default=DEFAULT_MAX_PARALLELISM)  # fmt: skip
        return SavepointWriter(reader.spark, metadata, pieces, most)

    # What it holds.

    def with_state(
        self, uid: str, name: str, frame: DataFrame, kind: str = "value", *, scope: str = KEYED,
        key_type: TypeInformation | None = None, map_key_type: TypeInformation | None = None,
        value_type: TypeInformation | None = None,
    ) -> SavepointWriter:  # fmt: skip
        """A state of an operator, new or in place of what it held.

        Columns: `key`, for a map `map_key`, then `value`, which for a list state is an array. State
        of windows has `window_start` and `window_end`. With `expires_from` (milliseconds) it has a
        time to live. Types that are not given are those of the columns: a struct is a Row, or with
        fields f0, f1, … a tuple. Of a list state `value_type` is that of an element.
        """
        types = {"key": key_type, "map_key": map_key_type, "value": value_type}
        given = Given(kind, scope, types)
        return self._put(uid, name, self._rows(uid, name, frame, given))

    def with_timers(self, uid: str, frame: DataFrame,
                    key_type: TypeInformation | None = None) -> SavepointWriter:  # fmt: skip
        """The timers of an operator: `key`, `time` (milliseconds or a timestamp), `domain`.

        The domain is `event`, which it is without the column, or `processing`. Timers of windows
        have `window_start` and `window_end`, too.
        """
        scope = WINDOW if {"window_start", "namespace"} & set(frame.columns) else KEYED
        given = Given(TIMERS, scope, {"key": key_type})
        return self._put(uid, TIMERS_NAME, self._rows(uid, TIMERS_NAME, frame, given))

    def transform(
        self, uid: str, name: str, change: Callable[[DataFrame], DataFrame], *,
        scope: str | None = None, key_type: TypeInformation | None = None,
        map_key_type: TypeInformation | None = None, value_type: TypeInformation | None = None,
    ) -> SavepointWriter:  # fmt: skip
        """Let a function make other rows out of a state's rows."""
        before = self._piece(uid, name, scope)
        form = before.state.form
        types = {"key": key_type, "map_key": map_key_type, "value": value_type}
        given = Given(form.kind, form.scope, types, known=form)
        rows = self._rows(uid, name, change(before.frame), given)
        kept = {part: type_to_json(kind) for part, kind in form.types.items() if part != "key"}
        now = {part: type_to_json(kind) for part, kind in rows.form.types.items() if part != "key"}
        if kept == now and not any(types.values()):
            rows = replace(rows, declared=before.state.declared)
        return self._put(uid, name, rows)

    def remove_state(self, uid: str, name: str, scope: str | None = None) -> SavepointWriter:
        """Leave a state out."""
        self._pieces.remove(self._piece(uid, name, scope))
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave out an operator with all its state, its timers and, of a source, its positions."""
        self._require_operator(uid)
        self._pieces = [piece for piece in self._pieces if piece.state.operator != uid]
        metadata = self._metadata
        self._metadata = replace(
            metadata,
            operators=[each for each in metadata.operators if each["uid"] != uid],
            sources={each: at for each, at in metadata.sources.items() if each != uid},
            time=_renamed_time(metadata.time, lambda each: None if each == uid else each),
        )
        return self

    def change_uid(self, old: str, new: str) -> SavepointWriter:
        """Give an operator another uid, for a program that calls it so."""
        self._require_operator(old)
        if any(each["uid"] == new for each in self._metadata.operators):
            raise InvalidArgument(
                f"there is an operator with uid {new!r} already", origin=calling_origin()
            )

        def name(uid: str) -> str:
            return new if uid == old else uid

        metadata = self._metadata
        self._metadata = replace(
            metadata,
            operators=[_renamed_operator(each, name, new) for each in metadata.operators],
            sources={name(uid): at for uid, at in metadata.sources.items()},
            time=_renamed_time(metadata.time, name),
        )
        self._pieces = [
            replace(piece, state=replace(piece.state, operator=name(piece.state.operator)))
            for piece in self._pieces
        ]
        return self

    def write(self, path: str | Path) -> str:
        """Make the savepoint in a folder that is empty or not there yet; returns its path."""
        target = file_store(self._spark, str(path))
        require_free(target)
        try:
            states = [state for piece in self._pieces
                      if (state := self._written(piece, target)).rows]  # fmt: skip
            files = checksums(self._spark, target, states)
            parallelism = max([self._metadata.parallelism, *map(self._instances, states)])
            operators = [self._sized(each, states) for each in self._metadata.operators]
            replace(self._metadata, states=states, files=files, parallelism=parallelism,
                    operators=operators).write(target)  # fmt: skip
        except BaseException:
            target.delete()
            raise
        return target.uri

    # How it is done.

    def _rows(self, uid: str, name: str, frame: DataFrame, given: Given) -> StateRows:
        what = f"{'timers' if given.kind == TIMERS else f'state {name!r}'} of operator {uid!r}"
        return state_rows(frame, given, self._operator(uid)["max_parallelism"], what)

    def _put(self, uid: str, name: str, rows: StateRows) -> SavepointWriter:
        state = SavedState(uid, name, rows.form, rows.declared, "")
        same = (uid, name, rows.form.scope)
        self._pieces = [
            piece for piece in self._pieces
            if (piece.state.operator, piece.state.name, piece.state.form.scope) != same
        ]  # fmt: skip
        self._pieces.append(_Piece(state, rows.frame, True))
        return self

    def _piece(self, uid: str, name: str, scope: str | None) -> _Piece:
        known = replace(self._metadata, states=[piece.state for piece in self._pieces])
        state = find_state(known, uid, name, scope)
        return next(piece for piece in self._pieces if piece.state is state)

    def _operator(self, uid: str) -> dict[str, Any]:
        """The operator of a uid, which is made up if it is new."""
        for each in self._metadata.operators:
            if each["uid"] == uid:
                return each
        number = len(self._metadata.operators) + 1
        made: dict[str, Any] = {
            "uid": uid, "name": uid, "id": number, "level": 1, "type": "bootstrapped",
            "generated_uid": False, "parallelism": 1, "max_parallelism": self._max_parallelism,
            "inputs": [], "source": False, "sink": False,
        }  # fmt: skip
        self._metadata.operators.append(made)
        return made

    def _require_operator(self, uid: str) -> None:
        if not any(each["uid"] == uid for each in self._metadata.operators):
            known = replace(self._metadata, states=[piece.state for piece in self._pieces])
            raise unknown_operator(known, uid)

    def _written(self, piece: _Piece, target: FileStore) -> SavedState:
        state = piece.state
        folder = state_folder(state.operator, state.form.scope, state.name)
        place = f"{target.uri}/{folder}"
        piece.frame.write.parquet(place)
        frame = self._spark.read.parquet(place)
        if piece.is_new:
            _require_unique(frame, state)
        rows = frame.count()
        if not rows:
            target.delete(folder)
        return replace(state, folder=folder, rows=rows)

    def _instances(self, state: SavedState) -> int:
        """How many subtasks a list state is of."""
        if state.form.scope not in (LIST, UNION):
            return 1
        piece = next(p for p in self._pieces if (p.state.operator, p.state.name)
                     == (state.operator, state.name))  # fmt: skip
        return int(piece.frame.agg(F.max("subtask")).collect()[0][0]) + 1

    def _sized(self, operator: dict[str, Any], states: list[SavedState]) -> dict[str, Any]:
        mine = (state for state in states if state.operator == operator["uid"])
        return {**operator, "parallelism": max([operator["parallelism"],
                                                *map(self._instances, mine)])}  # fmt: skip


def _frame(reader: SavepointReader, state: SavedState) -> DataFrame:
    return reader.state(state.operator, state.name, state.form.scope)


def _require_unique(frame: DataFrame, state: SavedState) -> None:
    if state.form.kind == TIMERS:
        return
    parts = ("key", "window_start", "window_end", "namespace", "map_key", "subtask")
    names = [name for name in parts if name in frame.columns]
    if not names:
        return
    twice = frame.groupBy(*names).count().filter("count > 1").limit(1).collect()
    if twice:
        shown = ", ".join(f"{name} {twice[0][name]!r}" for name in names)
        raise InvalidArgument(
            f"state {state.name!r} of operator {state.operator!r} has {twice[0]['count']} rows "
            f"for {shown}", origin=calling_origin(), hint="Aggregate them to one row first.",
        )  # fmt: skip


def _renamed_operator(
    operator: dict[str, Any], name: Callable[[str], str], new: str
) -> dict[str, Any]:
    uid = name(operator["uid"])
    generated = operator["generated_uid"] and uid != new
    return {**operator, "uid": uid, "generated_uid": generated,
            "inputs": [name(each) for each in operator["inputs"]]}  # fmt: skip


def _renamed_time(time: CarriedTime, name: Callable[[str], str | None]) -> CarriedTime:
    def renamed(by_uid: dict[str, Any]) -> dict[str, Any]:
        return {now: value for uid, value in by_uid.items() if (now := name(uid)) is not None}

    return CarriedTime(renamed(time.splits), renamed(time.passed_on), renamed(time.reached),
                       renamed(time.clocks))  # fmt: skip
