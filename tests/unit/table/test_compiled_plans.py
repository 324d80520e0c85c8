"""Plans that are kept and run later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.common import Row, Types
from headrace.errors import HeadraceError, InvalidArgument, InvalidQuery, Unsupported
from headrace.sql.parse_statements import parse_statement
from headrace.table import DataTypes, PlanReference, Schema, TableDescriptor, TableEnvironment
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.udf import udf
from tests.unit.table.in_process import printed_by, stream_environment, table_environment

QUERY = "INSERT INTO sums SELECT twice(n), COUNT(*) FROM numbers GROUP BY twice(n)"


@pytest.fixture
def env() -> TableEnvironment:
    env = table_environment()
    env.create_temporary_function("twice", udf(lambda n: 2 * n, result_type="INT"))
    env.execute_sql("CREATE TEMPORARY VIEW numbers AS SELECT * FROM (VALUES (1), (2), (1)) T(n)")
    env.execute_sql("CREATE TABLE sums (n INT, c BIGINT) WITH ('connector' = 'print')")
    return env


def printed(plan: CompiledPlan, env: TableEnvironment) -> list[str]:
    for insert in plan._inserts:
        env._execution.lower(env._execution.optimized(insert))
    return printed_by(env)


def test_a_plan_runs_in_a_session_that_knows_none_of_its_names(
    env: TableEnvironment, tmp_path: Path
) -> None:
    plan = env.compile_plan_sql(QUERY)
    file = tmp_path / "plans" / "plan.json"
    plan.write_to_file(file)
    elsewhere = table_environment()
    for reference in (
        PlanReference.from_file(file),
        PlanReference.from_file(str(file)),
        PlanReference.from_json_string(plan.as_json_string()),
        PlanReference.from_smile_bytes(plan.as_smile_bytes()),
    ):
        loaded = elsewhere.load_plan(reference)
        assert loaded.as_json_string() == plan.as_json_string()
        assert printed(loaded, elsewhere) == ["+I[2, 1]", "+I[4, 1]", "-U[2, 1]", "+U[2, 2]"]
    assert plan.get_flink_version() == "2.3.0"
    assert "Aggregate" in plan.explain()


def test_state_has_the_uids_of_the_statement(env: TableEnvironment) -> None:
    execution = env._execution
    (insert,) = env._runner.inserts_of(parse_statement(QUERY))
    (kept,) = env.compile_plan_sql(QUERY)._inserts
    plans = [execution.planned([execution.optimized(each)]) for each in (insert, kept)]
    uids = [{vertex.uid for vertex in plan.vertices.values()} for plan in plans]
    assert uids[0] == uids[1]


def test_pipelines_and_statement_sets_become_plans(env: TableEnvironment) -> None:
    schema = Schema.new_builder().column("n", DataTypes.INT()).build()
    sink = TableDescriptor.for_connector("print").schema(schema).build()
    table = env.from_path("numbers")
    assert printed(table.insert_into(sink).compile_plan(), env) == ["+I[1]", "+I[2]", "+I[1]"]
    both = env.create_statement_set().add_insert(sink, table).add_insert_sql(QUERY)
    assert len(both.compile_plan()._inserts) == 2
    text = f"EXECUTE STATEMENT SET BEGIN {QUERY}; {QUERY}; END"
    assert len(env.compile_plan_sql(text)._inserts) == 2


def test_a_plan_that_is_there_stays(env: TableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    env.execute_sql(f"COMPILE PLAN '{file}' FOR {QUERY}").print()
    before = file.read_text()
    with pytest.raises(InvalidArgument, match="there is a plan"):
        env.execute_sql(f"COMPILE PLAN '{file}' FOR {QUERY}")
    other = "INSERT INTO sums SELECT 1, CAST(2 AS BIGINT)"
    env.execute_sql(f"COMPILE PLAN '{file}' IF NOT EXISTS FOR {other}")
    env.compile_plan_sql(other).write_to_file(file, ignore_if_exists=True)
    assert file.read_text() == before
    env.get_config().set("table.plan.force-recompile", "true")
    env.execute_sql(f"COMPILE PLAN '{file}' FOR {other}")
    assert file.read_text() != before


def test_what_is_no_plan_is_refused(env: TableEnvironment, tmp_path: Path) -> None:
    for text in ("", "{}", "[]", '{"flinkVersion": "2.3", "nodes": []}'):
        with pytest.raises(InvalidArgument, match="no plan that headrace has compiled"):
            env.load_plan(PlanReference.from_json_string(text))
    with pytest.raises(InvalidArgument, match="cannot read the plan"):
        env.execute_plan(PlanReference.from_file(tmp_path / "missing"))
    with pytest.raises(InvalidArgument, match="no plan that headrace has compiled"):
        PlanReference.from_smile_bytes(b"\xff\xfe")
    plan = json.loads(env.compile_plan_sql(QUERY).as_json_string())
    older = {**plan, "headraceVersion": "0.0.1"}
    with pytest.raises(InvalidArgument, match=r"compiled by headrace 0\.0\.1"):
        env.load_plan(PlanReference.from_json_string(json.dumps(older)))
    with pytest.raises(InvalidQuery, match="only INSERT and statement sets"):
        env.compile_plan_sql("SELECT 1")
    with pytest.raises(HeadraceError, match="nothing to compile"):
        env.create_statement_set().compile_plan()


def test_a_data_stream_cannot_be_kept() -> None:
    env = stream_environment()
    env.execute_sql("CREATE TABLE sums (n BIGINT) WITH ('connector' = 'print')")
    stream = env._env.from_collection([Row(1)], Types.ROW([Types.LONG()]))
    with pytest.raises(Unsupported, match="is a DataStream"):
        env.from_data_stream(stream).insert_into("sums").compile_plan()


def test_references_are_equal_by_what_they_point_at() -> None:
    assert PlanReference.from_file("a") == PlanReference.from_file(Path("a"))
    assert PlanReference.from_file("a") != PlanReference.from_json_string("a")
    assert len({PlanReference.from_file("a"), PlanReference.from_file("a")}) == 1
    assert PlanReference.from_json_string("{}").get_content() == "{}"


def test_a_plan_of_somebody_else_is_not_run(
    env: TableEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_PLAN_KEY", "theirs")
    text = env.compile_plan_sql(QUERY).as_json_string()
    assert env.load_plan(PlanReference.from_json_string(text)).as_json_string() == text
    monkeypatch.setenv("HEADRACE_PLAN_KEY", "ours")
    with pytest.raises(InvalidArgument, match="compiled with another key"):
        env.load_plan(PlanReference.from_json_string(text))


def test_a_plan_that_was_changed_is_not_run(env: TableEnvironment) -> None:
    plan = json.loads(env.compile_plan_sql(QUERY).as_json_string())
    plan["content"] = "gASVAAAAAAAAAAAu"
    with pytest.raises(InvalidArgument, match="or changed since"):
        env.load_plan(PlanReference.from_json_string(json.dumps(plan)))


def test_the_own_key_is_drawn_once_and_for_nobody_else(
    env: TableEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADRACE_PLAN_KEY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = env.compile_plan_sql(QUERY).as_json_string()
    (key,) = tmp_path.rglob("plan-key*")
    assert key.stat().st_mode & 0o077 == 0
    assert env.load_plan(PlanReference.from_json_string(text)).as_json_string() == text
