"""From a DataFrame that somebody made to the rows of a state, as they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.core.columnar import type_to_json
from headrace.core.composite_types import ListTypeInfo, MapTypeInfo
from headrace.core.operator import EVENT_TIME, PROCESSING_TIME
from headrace.core.types import TypeInformation, Types
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin
from headrace.runtime.state_rows import BROADCAST, KEYED, LIST, UNION, WINDOW, RowForm
from headrace.runtime.subtask_state import TIMERS
from headrace.spark.failures import reported
from headrace.spark.worker import ArrowFunction
from headrace.state.spark_types import PICKLED, kept_type, shaped, type_of

__all__ = ["Given", "StateRows", "state_rows"]

KINDS = ("value", "list", "map", TIMERS)
SCOPES = {KEYED: KINDS, WINDOW: KINDS, BROADCAST: ("map",), LIST: ("list",), UNION: ("list",)}
_WINDOW_ENDS = ["window_start", "window_end"]
_TIME_WINDOW = Types.TUPLE([Types.LONG(), Types.LONG()])


@dataclass(frozen=True)
class Given:
    """What the caller says of a state."""

    kind: str
    scope: str = KEYED
    types: Mapping[str, TypeInformation | None] = field(default_factory=dict)
    """Types of `key`, `map_key` and `value`; of a list state the type of an element."""
    known: RowForm | None = None
    """The form the state had before."""


@dataclass(frozen=True)
class StateRows:
    """The rows of a state in stored form."""

    form: RowForm
    declared: Any
    frame: DataFrame


def state_rows(frame: DataFrame, given: Given, max_parallelism: int, what: str) -> StateRows:
    """Check a DataFrame's columns, find their types and give them their stored form."""
    _check(frame, given, what)
    if given.kind == TIMERS:
        frame = _with_times(frame, what)
    elif given.kind == "value":
        frame = frame.filter(F.col("value").isNotNull())  # no value is what None means
    types = {name: _type(frame, given, name, what) for name in _free(given, frame)}
    form = RowForm(given.kind, given.scope, "expires_from" in frame.columns, types)
    columns = [_stored(frame, form, name, what)
               for name in form.schema.names if name not in ("key_group", "position")]  # fmt: skip
    keeps_group = types.get("key") == PICKLED and "key_group" in frame.columns
    if keeps_group:
        columns.append(F.col("key_group").cast("int"))
    if "position" in frame.columns:
        frame = frame.sortWithinPartitions("position")
    shape = frame.select(*columns)
    schema = _schema(form, shape)
    rows = shape.mapInArrow(_completed(form, max_parallelism, keeps_group, schema.names), schema)
    return StateRows(form, _declared(given, types), rows)


def _free(given: Given, frame: DataFrame) -> list[str]:
    names = {KEYED: ["key"], WINDOW: ["key", "namespace"], BROADCAST: []}.get(
        given.scope, ["subtask"]
    )
    if given.kind == "map":
        names = [*names, "map_key"]
    return names if given.kind == TIMERS else [*names, "value"]


def _check(frame: DataFrame, given: Given, what: str) -> None:
    if given.scope not in SCOPES or given.kind not in SCOPES[given.scope]:
        possible = "; ".join(f"{scope}: {', '.join(kinds)}" for scope, kinds in SCOPES.items())
        raise InvalidArgument(
            f"{what} cannot be a {given.kind} state of scope {given.scope!r}",
            origin=calling_origin(), hint=f"Possible are {possible}.",
        )  # fmt: skip
    names = [name for name in _free(given, frame) if name != "namespace"]
    if given.scope == WINDOW and "namespace" not in frame.columns:
        names += _WINDOW_ENDS
    if given.kind == TIMERS:
        names.append("time")
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InvalidArgument(
            f"the DataFrame for {what} lacks the column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, frame.columns))}", origin=calling_origin(),
            hint="Name the columns so with withColumnRenamed; several columns become one value "
            "with struct(...).",
        )  # fmt: skip
    is_list = given.kind == "list"
    if is_list and not isinstance(frame.schema["value"].dataType, spark_types.ArrayType):
        raise InvalidArgument(
            f"the column 'value' for {what} must be an array: the whole list of a key",
            origin=calling_origin(),
            hint="Collect the elements: groupBy('key').agg(collect_list('value').alias('value')).",
        )


def _with_times(frame: DataFrame, what: str) -> DataFrame:
    kind = frame.schema["time"].dataType
    if isinstance(kind, spark_types.TimestampType):
        frame = frame.withColumn("time", F.unix_millis("time"))
    elif not isinstance(kind, spark_types.IntegralType):
        raise InvalidArgument(
            f"the column 'time' for {what} must be milliseconds or a timestamp, "
            f"not {kind.simpleString()}", origin=calling_origin(),
        )  # fmt: skip
    if "domain" not in frame.columns:
        return frame.withColumn("domain", F.lit(EVENT_TIME))
    known = F.col("domain").isin(EVENT_TIME, PROCESSING_TIME)
    wrong = F.raise_error(F.concat(F.lit("no such time domain: "), F.col("domain")))
    return frame.withColumn("domain", F.when(known, F.col("domain")).otherwise(wrong))


def _type(frame: DataFrame, given: Given, name: str, what: str) -> TypeInformation:
    if name == "subtask":
        return Types.LONG()
    if name == "namespace":
        return PICKLED if "namespace" in frame.columns else _TIME_WINDOW
    found = frame.schema[name].dataType
    place = f"the column {name!r} for {what}"
    wanted = given.types.get(name)
    if wanted is not None:
        is_list = name == "value" and given.kind == "list"
        return kept_type(ListTypeInfo(wanted) if is_list else wanted, found, place)
    if given.known is not None and name in given.known.types:
        before = from_arrow_schema(given.known.schema, prefer_timestamp_ntz=True)
        if before[name].dataType.simpleString() == found.simpleString():
            return given.known.types[name]
    if isinstance(found, spark_types.BinaryType) and f"{name}_text" in frame.columns:
        return PICKLED
    return type_of(found, place)


def _stored(frame: DataFrame, form: RowForm, name: str, what: str) -> Any:
    if name in ("window_start", "window_end", "time", "subtask"):
        return F.col(name).cast("long").alias(name)
    if name in ("domain", "expires_from"):
        return F.col(name)
    if name.endswith("_text"):
        size = F.concat(F.lit("pickled, "), F.octet_length(name.removesuffix("_text")))
        text = F.col(name) if name in frame.columns else F.concat(size, F.lit(" bytes"))
        return text.alias(name)
    if form.types[name] == PICKLED:
        return F.col(name)
    found = frame.schema[name].dataType
    column = shaped(F.col(name), found, form.types[name], f"the column {name!r} for {what}")
    return column.alias(name)


def _schema(form: RowForm, shape: DataFrame) -> spark_types.StructType:
    extra = {"key_group": spark_types.IntegerType(), "position": spark_types.LongType()}
    return spark_types.StructType([
        spark_types.StructField(
            name, extra[name] if name in extra else shape.schema[name].dataType
        )
        for name in form.schema.names
    ])  # fmt: skip


def _completed(
    form: RowForm, max_parallelism: int, keeps_group: bool, names: list[str]
) -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = 0
        with reported():
            for rows in batches:
                columns = dict(zip(rows.schema.names, rows.columns, strict=True))
                if "key_group" in names and not keeps_group:
                    columns["key_group"] = form.key_groups(rows, max_parallelism)
                if "position" in names:
                    numbers = range(first, first + rows.num_rows)
                    columns["position"] = pa.array(numbers, pa.int64())
                first += rows.num_rows
                yield pa.RecordBatch.from_arrays([columns[name] for name in names], names)

    return run


def _declared(given: Given, types: Mapping[str, TypeInformation]) -> Any:
    """The type a program would declare, as JSON."""
    if given.kind == TIMERS:
        return None
    value = given.types.get("value")
    if value is None:
        value = types["value"]
        if given.kind == "list":
            assert isinstance(value, ListTypeInfo)
            value = value.elem_type
    if given.kind == "map":
        return type_to_json(MapTypeInfo(given.types.get("map_key") or types["map_key"], value))
    return type_to_json(value)
