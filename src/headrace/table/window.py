"""Windows of the Table API: Tumble, Slide and Session group rows, Over looks around each row."""

from __future__ import annotations

from typing import Any

from headrace.errors import TypeMismatch
from headrace.origin import calling_origin
from headrace.sql import unresolved as un
from headrace.table.expression_base import expression_node
from headrace.table.window_bounds import FrameEdge, RowInterval

__all__ = [
    "GroupWindow",
    "Over",
    "OverWindow",
    "OverWindowPartitioned",
    "OverWindowPartitionedOrdered",
    "OverWindowPartitionedOrderedPreceding",
    "Session",
    "SessionWithGap",
    "SessionWithGapOnTime",
    "Slide",
    "SlideWithSize",
    "SlideWithSizeAndSlide",
    "SlideWithSizeAndSlideOnTime",
    "Tumble",
    "TumbleWithSize",
    "TumbleWithSizeOnTime",
]


class GroupWindow:
    """A window that rows are grouped by, under a name."""

    def __init__(
        self, kind: str, lengths: tuple[un.Unresolved, ...], time: un.Unresolved, alias: str
    ) -> None:
        self.kind = kind
        """TUMBLE, HOP or SESSION."""
        self.lengths = lengths
        self.time = time
        self.name = alias

    @property
    def counts_rows(self) -> bool:
        return any(isinstance(each, RowInterval) for each in self.lengths)


class _OnTime:
    """A window that only lacks its name."""

    def __init__(self, kind: str, lengths: tuple[un.Unresolved, ...], time: un.Unresolved) -> None:
        self._said = kind, lengths, time

    def alias(self, alias: str) -> GroupWindow:
        """The name that group_by() and select() know it by."""
        if not isinstance(alias, str):
            raise TypeMismatch(
                f"a window's alias is a text, not {alias!r}", origin=calling_origin()
            )
        return GroupWindow(*self._said, alias)


class _Sized:
    """A window that lacks its time attribute."""

    made: type[_OnTime]

    def __init__(self, kind: str, *lengths: un.Unresolved) -> None:
        self._kind = kind
        self._lengths = lengths

    def _on(self, time_field: Any) -> Any:
        return self.made(self._kind, self._lengths, expression_node(time_field, "on"))


class TumbleWithSizeOnTime(_OnTime):
    """A tumbling window over a time attribute."""


class TumbleWithSize(_Sized):
    """A tumbling window of a size."""

    made = TumbleWithSizeOnTime

    def on(self, time_field: Any) -> TumbleWithSizeOnTime:
        found: TumbleWithSizeOnTime = self._on(time_field)
        return found


class Tumble:
    """Windows that follow each other without a gap."""

    @classmethod
    def over(cls, size: Any) -> TumbleWithSize:
        return TumbleWithSize("TUMBLE", expression_node(size, "over"))


class SessionWithGapOnTime(_OnTime):
    """A session window over a time attribute."""


class SessionWithGap(_Sized):
    """A session window with a gap."""

    made = SessionWithGapOnTime

    def on(self, time_field: Any) -> SessionWithGapOnTime:
        found: SessionWithGapOnTime = self._on(time_field)
        return found


class Session:
    """Windows that end where no row comes for a while."""

    @classmethod
    def with_gap(cls, gap: Any) -> SessionWithGap:
        return SessionWithGap("SESSION", expression_node(gap, "with_gap"))


class SlideWithSizeAndSlideOnTime(_OnTime):
    """A sliding window over a time attribute."""


class SlideWithSizeAndSlide(_Sized):
    """A sliding window with a size and a slide."""

    made = SlideWithSizeAndSlideOnTime

    def on(self, time_field: Any) -> SlideWithSizeAndSlideOnTime:
        found: SlideWithSizeAndSlideOnTime = self._on(time_field)
        return found


class SlideWithSize:
    """A sliding window of a size."""

    def __init__(self, size: un.Unresolved) -> None:
        self._size = size

    def every(self, slide: Any) -> SlideWithSizeAndSlide:
        return SlideWithSizeAndSlide("HOP", expression_node(slide, "every"), self._size)


class Slide:
    """Windows of a size that start again after each slide, so that they may overlap."""

    @classmethod
    def over(cls, size: Any) -> SlideWithSize:
        return SlideWithSize(expression_node(size, "over"))


class OverWindow:
    """Rows around each row, under a name."""

    def __init__(self, name: str, spec: un.OverSpec) -> None:
        self.name = name
        self.spec = spec


_Edges = tuple[un.Unresolved | None, un.Unresolved | None]


class _Ordered:
    def __init__(
        self, partition: tuple[un.Unresolved, ...], order: un.Unresolved,
        edges: _Edges = (None, None),
    ) -> None:  # fmt: skip
        self._partition = partition
        self._order = order
        self._edges = edges

    def alias(self, alias: str) -> OverWindow:
        """The name that over() knows it by."""
        order = self._order
        item = order if isinstance(order, un.SortItem) else un.SortItem(order, at=order.at)
        preceding, following = self._edges
        unit = _unit(preceding) or _unit(following)
        start = None if preceding is None else _bound(preceding, "preceding")
        end = None if following is None else _bound(following, "following")
        spec = un.OverSpec(self._partition, (item,), unit, start, end, at=order.at)
        return OverWindow(alias, spec)


class OverWindowPartitionedOrderedPreceding(_Ordered):
    """A window with a start."""

    def following(self, following: Any) -> OverWindowPartitionedOrderedPreceding:
        edges = self._edges[0], expression_node(following, "following")
        return OverWindowPartitionedOrderedPreceding(self._partition, self._order, edges)


class OverWindowPartitionedOrdered(_Ordered):
    """A window with an order; by default from the first row to the current one."""

    def preceding(self, preceding: Any) -> OverWindowPartitionedOrderedPreceding:
        edges = expression_node(preceding, "preceding"), None
        return OverWindowPartitionedOrderedPreceding(self._partition, self._order, edges)


class OverWindowPartitioned:
    """A window that lacks its order."""

    def __init__(self, partition: tuple[un.Unresolved, ...]) -> None:
        self._partition = partition

    def order_by(self, order_by: Any) -> OverWindowPartitionedOrdered:
        return OverWindowPartitionedOrdered(self._partition, expression_node(order_by, "order_by"))


class Over:
    """Rows around each row, in an order of time."""

    @classmethod
    def order_by(cls, order_by: Any) -> OverWindowPartitionedOrdered:
        return OverWindowPartitionedOrdered((), expression_node(order_by, "order_by"))

    @classmethod
    def partition_by(cls, *partition_by: Any) -> OverWindowPartitioned:
        nodes = tuple(expression_node(each, "partition_by") for each in partition_by)
        return OverWindowPartitioned(nodes)


def _unit(edge: un.Unresolved | None) -> str | None:
    if edge is None:
        return None
    if isinstance(edge, FrameEdge):
        return edge.unit
    return "rows" if isinstance(edge, RowInterval) else "range"


def _bound(edge: un.Unresolved, way: str) -> un.FrameBound:
    if isinstance(edge, FrameEdge):
        return un.FrameBound("current" if edge.current else way, at=edge.at)
    if isinstance(edge, RowInterval):
        return un.FrameBound(way, un.Value(edge.rows, at=edge.at), at=edge.at)
    return un.FrameBound(way, edge, at=edge.at)
