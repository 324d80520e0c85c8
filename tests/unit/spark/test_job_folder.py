"""A job's folder recognises its job."""

from __future__ import annotations

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import InvalidGraph, Unsupported
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.spark.job_folder import job_folder


def a_plan(*, parallelism: int = 2, name: str = "count") -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.from_collection([1]).key_by(lambda v: v).sum(0).name(name).print()
    return plan(env.builder.take("job", **env._graph_settings()))


def test_a_resumed_job_keeps_the_name_of_its_output(tmp_path):
    assert job_folder(str(tmp_path), 1).claim(a_plan(), "first") == "first"
    assert job_folder(str(tmp_path), 1).claim(a_plan(), "second") == "first"
    assert job_folder(str(tmp_path), 2).claim(a_plan(), "second") == "second"


def test_another_parallelism_is_refused(tmp_path):
    job_folder(str(tmp_path), 1).claim(a_plan(), "first")
    with pytest.raises(InvalidGraph, match="another parallelism: 2, not 3"):
        job_folder(str(tmp_path), 1).claim(a_plan(parallelism=3), "second")


def test_another_job_is_refused(tmp_path):
    job_folder(str(tmp_path), 1).claim(a_plan(), "first")
    with pytest.raises(InvalidGraph, match=r"it has .*count .* this job has .*renamed"):
        job_folder(str(tmp_path), 1).claim(a_plan(name="renamed"), "second")


def test_only_local_folders_so_far(tmp_path):
    with pytest.raises(Unsupported, match="hdfs://host"):
        job_folder("hdfs://host/checkpoints", 1)
    assert job_folder(f"file://{tmp_path}", 1).path == tmp_path / "job-1"
    assert not job_folder(None, 1).lasting
