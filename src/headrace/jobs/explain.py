"""Everything about how a job would run, without running it."""

from __future__ import annotations

from headrace.graph.explain import execution_plan_json, stream_graph_text
from headrace.graph.nodes import Graph
from headrace.jobs.launcher import JobSettings
from headrace.plan.explain import job_graph_text
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.flow.sources import with_splits
from headrace.spark.batch import lower_batch
from headrace.spark.dependencies import prepare
from headrace.spark.flow.lowering import lower_stream
from headrace.spark.inputs import with_local_files
from headrace.spark.session import explained, get_session
from headrace.spark.shipment import pack

__all__ = ["execution_plan_json", "explain"]


def explain(graph: Graph, plan: PhysicalPlan, settings: JobSettings) -> str:
    """Stream graph, chained job graph and Spark plan."""
    spark = get_session(settings.spark)
    plan = with_local_files(plan)
    streams = settings.as_stream or not plan.bounded
    if streams:
        plan = with_splits(plan)
    shipment = pack(plan, "explain", **prepare(spark, settings.dependencies))
    lower = lower_stream if streams else lower_batch
    physical = explained(spark, lower(spark, plan, shipment))
    kind = "one stream of records through these stages" if streams else "one Spark batch"
    return "\n".join([
        "== Stream graph ==", stream_graph_text(graph), "",
        "== Job graph (chained) ==", job_graph_text(plan), "",
        f"== Spark plan: {kind} ==", physical.strip(),
    ])  # fmt: skip
