"""Flink's options of tables: which of them do something, and what becomes of the others.

An option that would change a result is never passed over in silence: it has its effect, or the
statement is refused. What only tunes Flink's own machinery is accepted and has none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from headrace.errors import Unsupported
from headrace.sql.position import closest

_LOG = logging.getLogger("headrace")

USED = frozenset({
    "table.dml-sync", "table.local-time-zone", "table.exec.state.ttl",
    "table.exec.source.idle-timeout", "table.exec.source.cdc-events-duplicate",
    "table.exec.sink.not-null-enforcer", "table.exec.sink.type-length-enforcer",
    "table.exec.sink.nested-constraint-enforcer", "table.exec.async-scalar.buffer-capacity",
    "table.exec.async-scalar.max-attempts", "table.exec.async-scalar.max-concurrent-operations",
    "table.exec.async-scalar.retry-delay", "table.exec.async-scalar.retry-strategy",
    "table.exec.async-scalar.timeout", "table.exec.async-lookup.buffer-capacity",
    "table.exec.async-lookup.timeout", "table.display.max-column-width",
    "table.plan.force-recompile",
    "table.exec.interval-join.min-cleanup-interval",
})  # fmt: skip
_USED_PREFIX = "table.exec.emit."

REFUSED: Mapping[str, tuple[frozenset[str], str]] = {
    "table.column-expansion-strategy": (
        frozenset({""}), "`*` stands for all columns; name the columns that are wanted"),
    "table.dynamic-table-options.enabled": (
        frozenset({"true"}), "OPTIONS hints are always taken"),
    "table.exec.legacy-cast-behaviour": (
        frozenset({"disabled"}), "a CAST that fails is an error; TRY_CAST gives NULL"),
    "table.exec.sink.upsert-materialize": (
        frozenset({"auto"}), "rows are kept by the sink's key where the query's key is another"),
    "table.exec.sort.default-limit": (
        frozenset({"-1"}), "ORDER BY without LIMIT gives all rows; write LIMIT"),
    "table.optimizer.non-deterministic-update.strategy": (
        frozenset({"ignore"}), "functions that are not deterministic are not looked for"),
    "table.sql-dialect": (
        frozenset({"default"}), "statements are written in Flink's dialect"),
}  # fmt: skip
"""Options that would change results: the values that are the same as not to set them, and why."""

_TUNING: Mapping[str, str] = {
    "table": "builtin-catalog-name builtin-database-name catalog-modification.listeners "
    "default-freshness.continuous default-freshness.full default-start-mode "
    "generated-code.max-length generated-code.max-members "
    "legacy-nested-row-nullability plan.compile.catalog-objects "
    "plan.restore.catalog-objects refresh-mode.freshness-threshold resources.download-dir "
    "rtas-ctas.atomicity-enabled",
    "table.exec": "async-lookup.key-ordered-enabled async-lookup.output-mode "
    "async-ml-predict.max-concurrent-operations async-ml-predict.output-mode "
    "async-ml-predict.timeout async-state.enabled "
    "async-table.max-concurrent-operations async-table.max-retries async-table.retry-delay "
    "async-table.retry-strategy async-table.timeout async-vector-search.max-concurrent-operations "
    "async-vector-search.output-mode async-vector-search.timeout "
    "deduplicate.insert-update-after-sensitive-enabled "
    "deduplicate.mini-batch.compact-changes-enabled delta-join.cache-enabled "
    "delta-join.left.cache-size delta-join.right.cache-size disabled-operators "
    "local-hash-agg.adaptive.distinct-value-rate-threshold "
    "local-hash-agg.adaptive.enabled local-hash-agg.adaptive.sampling-threshold "
    "mini-batch.allow-latency mini-batch.enabled mini-batch.size operator-fusion-codegen.enabled "
    "rank.topn-cache-size resource.default-parallelism resource.external-buffer-memory "
    "resource.hash-agg.memory resource.hash-join.memory resource.sort.memory "
    "simplify-operator-name-enabled sink.keyed-shuffle sink.require-on-conflict "
    "sink.rowtime-inserter sink.upsert-materialize-strategy.adaptive.threshold.high "
    "sink.upsert-materialize-strategy.adaptive.threshold.low sink.upsert-materialize-strategy.type "
    "sort.async-merge-enabled sort.max-num-file-handles spill-compression.block-size "
    "spill-compression.enabled uid.format uid.generation unbounded-over.version "
    "window-agg.buffer-size-limit",
    "table.optimizer": "adaptive-broadcast-join.strategy agg-phase-strategy "
    "bushy-join-reorder-threshold delta-join.strategy distinct-agg.split.bucket-num "
    "distinct-agg.split.enabled dynamic-filtering.enabled incremental-agg-enabled "
    "join-reorder-enabled join.broadcast-threshold multi-join.enabled multiple-input-enabled "
    "ptf.max-tables reuse-optimize-block-with-digest-enabled reuse-sink-enabled "
    "reuse-source-enabled reuse-sub-plan-enabled runtime-filter.enabled "
    "runtime-filter.max-build-data-size runtime-filter.min-filter-ratio "
    "runtime-filter.min-probe-data-size skewed-join-optimization.skewed-factor "
    "skewed-join-optimization.skewed-threshold skewed-join-optimization.strategy "
    "source.report-statistics-enabled sql2rel.project-merge.enabled "
    "union-all-as-breakpoint-enabled",
}
TUNING = frozenset(
    f"{prefix}.{name}" for prefix, names in _TUNING.items() for name in names.split()
)
"""Options that change nothing about a result, and have no effect here."""


def check_options(options: Mapping[str, str], told: set[str]) -> None:
    """Refuse options that would change results and cannot be had; tell of unknown ones, each once.

    `told` are those that have been told of.
    """
    for key, (same, reason) in REFUSED.items():
        if key in options and options[key].lower() not in same:
            raise Unsupported(
                f"{key} = {options[key]!r}: {reason}",
                hint=f"RESET '{key}', or leave it at its default.",
            )
    for key in _unknown(options):
        if key not in told:
            told.add(key)
            near = closest(key, USED | TUNING | REFUSED.keys())
            meant = f"; did you mean {near!r}?" if near else ""
            _LOG.warning("there is no option %r, it has no effect%s", key, meant)


def _unknown(options: Mapping[str, str]) -> Iterator[str]:
    for key in options:
        known = key in USED or key in TUNING or key in REFUSED or key.startswith(_USED_PREFIX)
        if key.startswith("table.") and not known:
            yield key
