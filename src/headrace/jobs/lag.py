"""How far a running job's sources are behind what could be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.plan.physical import PhysicalPlan
from headrace.runtime.flow.admission import Admission
from headrace.runtime.flow.gate import SourceReach
from headrace.runtime.flow.splits import SplitReach


@dataclass(frozen=True, slots=True)
class SourceLag:
    """One source: in real time about a second ago, else when the last micro-batch was planned."""

    name: str
    splits: dict[str, SplitReach]
    """By id. Of files and other splits that come and go, those not read to their end."""
    records_behind: int | None
    """Over all splits; None where it cannot be counted, or Spark reads the source itself."""
    limit: int | None
    """How many records the next micro-batch may take of it; None: all there are."""
    last_batch_ms: int | None
    """How long the job's last micro-batch took that had records."""

    def __str__(self) -> str:
        count = self.records_behind
        behind = "an unknown number of records" if count is None else f"{count:,} records"
        limit = "" if self.limit is None else f", at most {self.limit:,} in a micro-batch"
        took = "" if self.last_batch_ms is None else f", the last one took {self.last_batch_ms} ms"
        return f"{self.name}: {behind} behind{limit}{took}"


def source_lags(
    plan: PhysicalPlan, admission: Admission, reaches: Mapping[int, SourceReach]
) -> dict[str, SourceLag]:
    """The lag of each source by its uid; `reaches`: by source, as of the last micro-batch."""
    found = {}
    for vertex in plan.sources:
        reach = reaches[vertex.id]
        known = vertex.id in admission.limits and admission.last_batch_ms is not None
        found[vertex.uid] = SourceLag(
            name=vertex.name,
            splits=dict(reach.splits),
            records_behind=reach.behind if known else None,
            limit=admission.limits.get(vertex.id),
            last_batch_ms=admission.last_batch_ms,
        )
    return found


def flowing_lags(
    plan: PhysicalPlan, reach: dict[tuple[int, int], dict[str, SplitReach]]
) -> dict[str, SourceLag]:
    """The lag of each source by its uid, by what its tasks say; `reach`: by source and task."""
    found = {}
    for vertex in plan.sources:
        told = [splits for (source, _), splits in reach.items() if source == vertex.id]
        splits = {id: split for each in told for id, split in each.items()}
        counts = [split.behind for split in splits.values()]
        behind = sum(count for count in counts if count is not None)
        known = bool(told) and None not in counts
        found[vertex.uid] = SourceLag(vertex.name, splits, behind if known else None, None, None)
    return found
