"""A word to those whose state could not be found again after a change of the program."""

from __future__ import annotations

import logging

from headrace.plan.physical import PhysicalPlan

_LOG = logging.getLogger("headrace")


def warn_of_missing_uids(plan: PhysicalPlan) -> None:
    """Name the operators that keep state and have no uid of their own.

    Those of a query cannot be given one: theirs follows from the query's text.
    """
    nameless = [
        f"{vertex.name!r}" + (f" ({vertex.origin})" if vertex.origin else "")
        for vertex in plan.vertices.values()
        if vertex.generated_uid and not vertex.of_query and vertex.operator is not None
        and (vertex.operator.keyed or vertex.operator.checkpointed)
    ]  # fmt: skip
    if nameless:
        _LOG.warning(
            "these operators keep state and have no uid, so it is lost when the graph before them "
            "changes: %s; name them with .uid(...)", ", ".join(dict.fromkeys(nameless)),
        )  # fmt: skip
