"""Choosing the operator for a window: the general one, or one that does the same cheaper."""

from __future__ import annotations

from typing import Any

from headrace.core.evictors import Evictor
from headrace.core.operator import Operator
from headrace.core.triggers import Trigger
from headrace.core.windows import MergingWindowAssigner, WindowAssigner
from headrace.operators.windows.contents import Contents
from headrace.operators.windows.firing import firing
from headrace.operators.windows.window_operator import WindowOperator


def window_operator(
    assigner: WindowAssigner[Any, Any], *, trigger: Trigger[Any, Any] | None = None,
    evictor: Evictor[Any, Any] | None = None, lateness_ms: int = 0, late_tag: str | None = None,
    contents: Contents, function: Any = None,
) -> Operator:  # fmt: skip
    """The operator for windows; without a trigger, with the assigner's own."""
    merging = isinstance(assigner, MergingWindowAssigner)
    fires = firing(function, single=contents.fold is not None, merging=merging)
    return WindowOperator(
        assigner, trigger or assigner.get_default_trigger(None), contents, fires,
        evictor=evictor, lateness_ms=lateness_ms, late_tag=late_tag,
    )  # fmt: skip
