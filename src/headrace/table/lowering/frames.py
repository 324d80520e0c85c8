"""Tables that Spark reads itself, as input of key-group operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.errors import Unsupported
from headrace.graph.relations import Scan


def native_frame(scan: Scan) -> Callable[[Any, list[str] | None], Any]:
    """A function of a session and files that gives the table's DataFrame."""

    def frame(session: Any, files: list[str] | None) -> Any:
        found = scan.source.native(session, files)
        if found is None:
            raise Unsupported(f"{'.'.join(scan.path)} cannot be read")
        # By number: in Spark, names with dots or in another case may mean other columns.
        return found.toDF(*(f"c{at}" for at in range(len(found.columns))))

    return frame
