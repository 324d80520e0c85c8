"""Windows of a key that grow together, and in whose state their contents lie.

When windows merge, the contents stay where those of one of them are, so that little is moved: a
window has a state window, which is itself until it becomes part of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.operator import Context
from headrace.core.state import MapStateDescriptor
from headrace.core.windows import MergingWindowAssigner
from headrace.operators.windows.contents import INTERNAL

_WINDOWS = MapStateDescriptor(INTERNAL + "merging-windows")
"""For each window in use, its state window."""

OnMerge = Callable[[Any, list[Any], Any, list[Any]], None]
"""Told the window that results, those it is made of, its state window, and the state windows
whose contents must go there."""


class MergingWindows:
    """The windows of the current key."""

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], ctx: Context):
        self._assigner = assigner
        self.state_windows = ctx.keyed_state(_WINDOWS)
        """For each window of the current key, its state window."""

    def state_window(self, window: Any) -> Any:
        """Where the contents of a window lie; None if it is not in use any more."""
        return self.state_windows.get(window)

    def retire(self, window: Any) -> None:
        """A window is not in use any more."""
        self.state_windows.remove(window)

    def add(self, new: Any, on_merge: OnMerge) -> Any:
        """Put a window in; returns the one it is part of now."""
        known = list(self.state_windows.keys())
        if not known:
            self.state_windows.put(new, new)
            return new
        merges = _Merges()
        self._assigner.merge_windows([*known, new], merges)
        result, absorbed = new, False
        for parts, whole in merges.found:
            if new in parts:
                result, absorbed = whole, True
            # Only what was there before is merged, the result too if it was, and each once.
            held = [part for part in dict.fromkeys((*parts, whole)) if part in self.state_windows]
            if held:
                self._merge(held, whole, on_merge)
            elif new in parts:
                self.state_windows.put(whole, whole)
        if not absorbed and new not in known:
            self.state_windows.put(new, new)
        return result

    def _merge(self, parts: list[Any], whole: Any, on_merge: OnMerge) -> None:
        if parts == [whole]:
            return  # it holds the new one already
        states = [self.state_windows.get(part) for part in parts]
        for part in parts:
            self.state_windows.remove(part)
        self.state_windows.put(whole, states[0])
        on_merge(whole, [part for part in parts if part != whole], states[0], states[1:])


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.found: list[tuple[list[Any], Any]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((list(to_be_merged), merge_result))
