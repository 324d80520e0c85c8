"""Options set in different ways: which of them counts, and for whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from headrace.core.config import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.environment_settings import SettingsMixin
from headrace.errors import InvalidArgument
from headrace.spark.dependencies import Dependencies
from headrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment

PARALLELISM = "parallelism.default"


def configuration(**options: str) -> Configuration:
    return Configuration.from_dict({key.replace("_", "."): v for key, v in options.items()})


def environment(options: Mapping[str, str] | None = None) -> StreamExecutionEnvironment:
    given = None if options is None else Configuration.from_dict(options)
    return StreamExecutionEnvironment.get_execution_environment(given)


def plan_a_query(tables: TableEnvironment) -> None:
    tables._execution.optimized(tables.sql_query("SELECT 1").relation)


def parallelism_of_a_query(tables: TableEnvironment) -> int:
    plan_a_query(tables)
    return tables._env.get_parallelism()


def test_an_option_for_tables_goes_before_the_environments_parallelism() -> None:
    """Whichever was set first; and the stream environment keeps its own until a query runs."""
    env = environment()
    tables = StreamTableEnvironment.create(env)
    env.set_parallelism(2)
    tables.get_config().set(PARALLELISM, "1")
    assert env.get_parallelism() == 2
    assert parallelism_of_a_query(tables) == 1
    later = environment()
    tables = StreamTableEnvironment.create(later)
    tables.get_config().set(PARALLELISM, "1")
    later.set_parallelism(2)
    assert parallelism_of_a_query(tables) == 1


def test_options_for_tables_by_their_settings_and_by_set() -> None:
    settings = EnvironmentSettings.new_instance().with_configuration(
        configuration(parallelism_default="4")
    )
    env = environment().set_parallelism(2)
    tables = StreamTableEnvironment.create(env, settings.build())
    assert tables.get_config().get(PARALLELISM, "") == "4"
    tables.execute_sql(f"SET '{PARALLELISM}' = '3'")
    assert parallelism_of_a_query(tables) == 3
    tables.execute_sql(f"RESET '{PARALLELISM}'")
    assert tables.get_config().get(PARALLELISM, "unset") == "unset"


def test_the_parallelism_of_tables_has_an_option_of_its_own() -> None:
    """It goes before all others."""
    env = environment().set_parallelism(2)
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set(PARALLELISM, "4")
    tables.get_config().set("table.exec.resource.default-parallelism", "3")
    assert parallelism_of_a_query(tables) == 3


def test_tables_see_what_the_environment_sets() -> None:
    env = environment()
    tables = StreamTableEnvironment.create(env)
    env.set_parallelism(5).set_max_parallelism(77)
    assert tables.get_config().get(PARALLELISM, "") == "5"
    assert tables.get_config().get("pipeline.max-parallelism", "") == "77"
    assert not tables.get_config().get_configuration().contains_key(PARALLELISM)
    tables.get_config().set("pipeline.max-parallelism", "33")
    assert env.get_max_parallelism() == 77


def test_the_last_way_to_set_the_parallelism_counts() -> None:
    env = environment({PARALLELISM: "3"})
    assert env.get_parallelism() == 3
    env.set_parallelism(2)
    env.configure(configuration(parallelism_default="4"))
    assert (env.get_parallelism(), env.get_config().get_parallelism()) == (4, 4)
    env.get_config().set_parallelism(5)
    assert env.get_parallelism() == 5


def test_an_option_for_tables_is_not_none() -> None:
    tables = StreamTableEnvironment.create(environment())
    with pytest.raises(InvalidArgument, match="setting 'a' cannot be None"):
        tables.get_config().set("a", None)


def test_a_configuration_is_copied() -> None:
    given = configuration(parallelism_default="3")
    env = StreamExecutionEnvironment.get_execution_environment(given)
    given.set_string(PARALLELISM, "9")
    assert env.get_parallelism() == 3
    env.set_parallelism(7)
    assert given.get_string(PARALLELISM, "") == "9"


@pytest.fixture
def usual_parallelism() -> Iterator[None]:
    yield
    SettingsMixin._local_parallelism = None


@pytest.mark.usefixtures("usual_parallelism")
def test_the_default_local_parallelism_is_that_of_later_environments() -> None:
    env = environment()
    before = env.get_parallelism()
    assert env.get_config().get_parallelism() == before
    env.set_default_local_parallelism(before + 6)
    assert env.get_parallelism() == before
    assert env.get_default_local_parallelism() == before + 6
    assert environment().get_parallelism() == before + 6
    assert environment({PARALLELISM: "3"}).get_parallelism() == 3


@pytest.mark.usefixtures("usual_parallelism")
def test_the_command_line_goes_before_the_default_local_parallelism(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADRACE_PARALLELISM", "4")
    environment().set_default_local_parallelism(8)
    assert environment().get_parallelism() == 4
    assert environment().set_parallelism(2).get_parallelism() == 2


@pytest.mark.parametrize("way", ["made with", "configured", "by a table's option"])
def test_operator_chaining_can_be_set_by_its_older_name(way: str) -> None:
    older = {"pipeline.operator-chaining": "false"}
    env = environment(older if way == "made with" else None)
    if way == "configured":
        env.configure(Configuration.from_dict(older))
    if way == "by a table's option":
        tables = StreamTableEnvironment.create(env)
        tables.get_config().set("pipeline.operator-chaining", "false")
        assert env.is_chaining_enabled()
        plan_a_query(tables)
    assert not env.is_chaining_enabled()
    env.configure(Configuration.from_dict({"pipeline.operator-chaining": "true"}))
    assert env.is_chaining_enabled()


def test_options_by_their_older_names() -> None:
    """A folder for checkpoints that is set by its older name is not forgotten."""
    env = environment({
        "state.checkpoints.dir": "/checkpoints", "state.savepoints.dir": "/savepoints",
        "execution.buffer-timeout": "5 ms", "state.backend": "rocksdb",
    })  # fmt: skip
    assert env._stream_settings().checkpoint_dir == "/checkpoints"
    assert env.get_default_savepoint_directory() == "/savepoints"
    assert env.get_buffer_timeout() == 5
    assert env.configuration.get_string("state.backend.type", "") == "rocksdb"


def test_what_jobs_bring_along_are_options() -> None:
    """The file that is added last comes first, as PyFlink has it."""
    env = environment({"python.files": "z.py"})
    env.add_python_file("a.py")
    env.add_python_file("b.py")
    env.set_python_requirements("first.txt")
    env.set_python_requirements("r.txt", "wheels")
    env.add_python_archive("data.zip")
    env.add_python_archive("other.zip", "data")
    found = Dependencies.configured(env.configuration)
    assert found.python_files == ("b.py", "a.py", "z.py")
    assert (found.requirements, found.requirements_cache) == ("r.txt", "wheels")
    assert found.archives == {"data.zip": "data.zip", "data": "other.zip"}
    tables = StreamTableEnvironment.create(env)
    tables.add_python_file("c.py")
    assert tables.get_config().get("python.files", "") == "c.py,b.py,a.py,z.py"
    assert Dependencies.configured(env.configuration).python_files == found.python_files
