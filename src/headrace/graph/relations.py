"""Relations: what a query asks for, as frozen nodes over typed expressions.

Columns are positions in the input's row. Front ends build the plain ones; rules of
`headrace.plan.relational` turn groups of them into those marked *physical*, which say what Flink
would call an operator of its own (window aggregation, interval join, Top-N, …).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.core.expressions import AggregateCall, Distance, Expression, SortKey, TableCall
from headrace.core.logical_types import (
    Field,
    LocalZonedTimestampType,
    LogicalType,
    TimestampType,
    is_time_attribute,
)
from headrace.core.row_patterns import RowPattern
from headrace.core.table_connector import ChangelogMode, TableSink, TableSource

INNER, LEFT, RIGHT, FULL, SEMI, ANTI = "inner", "left", "right", "full", "semi", "anti"


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A table that a query passes through."""

    schema: tuple[Field, ...]
    hints: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names and arguments of /*+ … */ that are about this relation."""
    written: tuple[str, ...] = ()
    """What a query calls its columns, where it gives a name twice: the query around it cannot tell
    them apart. The schema has each name once."""

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return ()

    def with_inputs(self, *inputs: Relation) -> Relation:
        return self

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.schema)

    @property
    def types(self) -> tuple[LogicalType, ...]:
        return tuple(column.type for column in self.schema)


@dataclass(frozen=True, kw_only=True)
class Single(Relation):
    """A relation over one other."""

    input: Relation

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def with_inputs(self, *inputs: Relation) -> Relation:
        return replace(self, input=inputs[0])


@dataclass(frozen=True, kw_only=True)
class Pair(Relation):
    """A relation over two others; conditions see the left columns, then the right ones."""

    left: Relation
    right: Relation

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    def with_inputs(self, *inputs: Relation) -> Relation:
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True, kw_only=True)
class Scan(Relation):
    """A table's rows as its connector gives them: physical columns, then metadata."""

    path: tuple[str, ...]
    source: TableSource
    primary_key: tuple[int, ...] | None = None
    stream: Any = None
    """For a DataStream seen as a table: the node's id in the program's graph."""
    converter: Any = None
    """For a DataStream: a picklable function from (value, timestamp in ms or None) to a row tuple
    (kind, column, …)."""


@dataclass(frozen=True, kw_only=True)
class Values(Relation):
    """Rows written in the query, in internal form."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, kw_only=True)
class AssignWatermark(Single):
    """The column at `time` is the row's event time; `watermark` is an expression of the row."""

    time: int
    watermark: Expression


@dataclass(frozen=True, kw_only=True)
class Project(Single):
    expressions: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Filter(Single):
    condition: Expression


@dataclass(frozen=True, kw_only=True)
class Aggregate(Single):
    """Columns: the keys, then the calls. With `grouping_sets` (tuples of positions in `keys`) once
    for each set, other keys NULL. No calls: DISTINCT."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    grouping_sets: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Window:
    """A windowing function's parameters, in milliseconds."""

    kind: str
    """"tumble", "hop", "cumulate" or "session"; in the Table API also "count_tumble" and
    "count_slide", whose size and slide are numbers of rows."""
    size: int
    """Of a session: the gap. Of cumulating windows: the largest."""
    slide: int = 0
    """Of cumulating windows: the step."""
    offset: int = 0
    partition: tuple[int, ...] = ()
    """Of sessions: columns whose values have sessions of their own."""


@dataclass(frozen=True, kw_only=True)
class WindowTable(Single):
    """TABLE(TUMBLE(…)): the input's columns, then window_start, window_end, window_time.

    Groups in GROUP BY TUMBLE(…) are the same relation, `legacy`."""

    window: Window
    time: int
    legacy: bool = False


@dataclass(frozen=True, kw_only=True)
class Join(Pair):
    """A regular join. Columns: left, then right (not for semi and anti)."""

    kind: str
    condition: Expression | None
    null_aware: bool = False
    """Of anti joins: NOT IN, where a NULL on the right leaves nothing."""


@dataclass(frozen=True, kw_only=True)
class TemporalJoin(Pair):
    """JOIN right FOR SYSTEM_TIME AS OF left.time: the right table as it was at that time."""

    kind: str
    condition: Expression
    time: int
    """The left time attribute."""


@dataclass(frozen=True, kw_only=True)
class Correlate(Single):
    """Each row with the rows a function makes of it. Columns: input, then the function's."""

    call: TableCall
    kind: str = INNER
    condition: Expression | None = None


@dataclass(frozen=True, kw_only=True)
class SetOperation(Relation):
    """UNION, INTERSECT or EXCEPT, lower case; not `all`: distinct."""

    kind: str
    all: bool
    branches: tuple[Relation, ...]

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return self.branches

    def with_inputs(self, *inputs: Relation) -> Relation:
        return replace(self, branches=inputs)


@dataclass(frozen=True, kw_only=True)
class Sort(Single):
    keys: tuple[SortKey, ...]
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True)
class Frame:
    """Which rows an OVER call sees: from `preceding` (None: unbounded) to the current row.

    For "rows" a number of rows; for "range" of milliseconds where the order is by time, otherwise
    any number. `following` above 0 and frames that end before the current row only exist for
    bounded input."""

    unit: str = "range"
    preceding: Distance | None = None
    following: Distance | None = 0

    @property
    def has_distance(self) -> bool:
        """Whether a value of the order decides how far it reaches."""
        return self.unit == "range" and bool(self.preceding or self.following)

    @property
    def is_empty(self) -> bool:
        """Whether it ends before it starts."""
        if self.preceding is None or self.following is None:
            return False
        return -self.preceding > self.following


@dataclass(frozen=True, kw_only=True)
class Over(Single):
    """Columns: the input's, then the calls'."""

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    frame: Frame
    calls: tuple[AggregateCall, ...]

    @property
    def follows_time(self) -> bool:
        """Whether a row's results are known when its time has come, and never change."""
        if not self.order or self.frame.following != 0:
            return False
        first = self.order[0]
        return first.ascending and is_time_attribute(self.input.types[first.column])


@dataclass(frozen=True, kw_only=True)
class TableAggregate(Single):
    """flat_aggregate: any number of rows per group. Columns: keys, then the function's."""

    keys: tuple[int, ...]
    call: AggregateCall
    window: Window | None = None
    time: int | None = None


@dataclass(frozen=True, kw_only=True)
class ToChangelog(Single):
    """TO_CHANGELOG: changes as rows. Columns: the operation's text, then the input's."""

    operations: tuple[tuple[str, str], ...]
    """Pairs of a change, such as "INSERT", and its text; others are left out."""
    partition: tuple[int, ...] | None = None
    settings: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, kw_only=True)
class FromChangelog(Single):
    """FROM_CHANGELOG: rows as changes. Columns: the input's without the operation."""

    operation: int
    operations: tuple[tuple[str, str], ...]
    partition: tuple[int, ...] | None = None
    settings: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, kw_only=True)
class MatchRecognize(Single):
    """Rows that follow a pattern. Columns: those of the partition, then the measures."""

    pattern: RowPattern


# Physical: made by rules.


@dataclass(frozen=True, kw_only=True)
class WindowAggregate(Single):
    """Aggregation by keys and window. Columns: the keys, the calls, then those of `properties`:
    "window_start", "window_end", "window_time". `time` None: the input has window columns at
    `window_columns` (start, end) already."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    window: Window | None
    time: int | None
    properties: tuple[str, ...]
    window_columns: tuple[int, int] | None = None
    legacy: bool = False
    grouping_sets: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class IntervalJoin(Pair):
    """left.time + lower <= right.time <= left.time + upper, in milliseconds, and `condition`."""

    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expression | None
    left_time: int
    right_time: int
    lower: int
    upper: int


@dataclass(frozen=True, kw_only=True)
class WindowJoin(Pair):
    """Rows of the same window and keys. Window columns are (start, end) of each side."""

    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expression | None
    left_window: tuple[int, int]
    right_window: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class LookupJoin(Single):
    """Each row with what the source looks up for it. Columns: input, then the source's table's.

    `keys` are pairs of a table column and an expression of the input that it equals."""

    source: TableSource
    table: Relation
    keys: tuple[tuple[int, Expression], ...]
    kind: str
    condition: Expression | None


@dataclass(frozen=True, kw_only=True)
class Rank(Single):
    """Rows `first` to `last` of each partition in an order, with their rank as the last column if
    `with_rank`. `function` is "ROW_NUMBER", "RANK" or "DENSE_RANK"."""

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    function: str
    first: int
    last: int
    with_rank: bool
    window_columns: tuple[int, int] | None = None
    last_column: int | None = None
    """For a limit that is itself a column."""


@dataclass(frozen=True, kw_only=True)
class Deduplicate(Single):
    """The first or last row of each partition by a time attribute."""

    partition: tuple[int, ...]
    time: int
    keep_last: bool
    window_columns: tuple[int, int] | None = None
    with_rank: bool = False


@dataclass(frozen=True, kw_only=True)
class Insert(Single):
    """A query written to a table."""

    path: tuple[str, ...]
    sink: TableSink
    overwrite: bool = False
    primary_key: tuple[int, ...] | None = None
    partition_keys: tuple[int, ...] = ()
    conflict: str | None = None
    accepted: ChangelogMode | None = None


def window_time_type(time: LogicalType) -> LogicalType:
    """window_time is a time attribute like the column the windows are over."""
    assert isinstance(time, TimestampType | LocalZonedTimestampType)
    return replace(time, nullable=False, precision=3)
