"""Catalogs through PyFlink's API: what they keep, and which of its exceptions they raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import errors, shim
from headrace.core.config import Configuration
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment, TableSchema
from headrace.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    HiveCatalog,
    JdbcCatalog,
    ObjectPath,
)
from headrace.table.model_descriptor import ModelDescriptor
from headrace.table.schema import Schema

TABLE, VIEW, PARTED = ObjectPath("db", "t"), ObjectPath("db", "v"), ObjectPath("db", "parted")
ABSENT, NOWHERE = ObjectPath("db", "absent"), ObjectPath("nowhere", "t")
FUNCTION, MODEL = ObjectPath("db", "f"), ObjectPath("db", "m")
WHOLE = CatalogPartitionSpec({"third": "2000", "second": "bob"})
PART = CatalogPartitionSpec({"second": "bob"})
ALIEN = CatalogPartitionSpec({"second": "bob", "other": "1"})


def a_table(keys: tuple[str, ...] = ()) -> CatalogBaseTable:
    types = [DataTypes.STRING(), DataTypes.INT(), DataTypes.STRING()]
    return CatalogBaseTable.create_table(
        TableSchema(["first", "second", "third"], types), keys, {"a": "b"}, "a table"
    )


def a_view() -> CatalogBaseTable:
    schema = TableSchema(["x"], [DataTypes.INT()])
    return CatalogBaseTable.create_view("SELECT 1 x", "SELECT 1 x", schema, {})


def a_partition(comment: str = "a partition") -> CatalogPartition:
    return CatalogPartition.create_instance({"a": "b"}, comment)


def a_model() -> CatalogModel:
    schema = Schema.new_builder().column("x", DataTypes.INT()).build()
    return CatalogModel.create_model(schema, schema, {"provider": "p"}, "a model")


def a_function() -> CatalogFunction:
    return CatalogFunction.create_instance("module.function")


A_DATABASE = CatalogDatabase.create_instance({"k": "v"}, "a database")
SIZES, COLUMNS = CatalogTableStatistics(1, 2, 3, 4, {"a": "b"}), CatalogColumnStatistics({})


@pytest.fixture
def catalog() -> Catalog:
    made = Catalog.of_type("generic_in_memory")
    made.create_database("db", A_DATABASE, False)
    made.create_table(TABLE, a_table(), False)
    made.create_table(VIEW, a_view(), False)
    made.create_table(PARTED, a_table(("second", "third")), False)
    made.create_partition(PARTED, WHOLE, a_partition(), False)
    made.create_function(FUNCTION, a_function(), False)
    made.create_model(MODEL, a_model(), False)
    return made


Call = Callable[[Catalog], Any]
REFUSED: list[tuple[type[errors.HeadraceError], Call]] = [
    (errors.DatabaseNotExistException, lambda c: c.get_database("nowhere")),
    (errors.DatabaseNotExistException, lambda c: c.drop_database("nowhere", False)),
    (errors.DatabaseNotExistException, lambda c: c.alter_database("nowhere", A_DATABASE, False)),
    (errors.DatabaseNotExistException, lambda c: c.list_tables("nowhere")),
    (errors.DatabaseNotExistException, lambda c: c.list_views("nowhere")),
    (errors.DatabaseNotExistException, lambda c: c.list_functions("nowhere")),
    (errors.DatabaseNotExistException, lambda c: c.list_models("nowhere")),
    (errors.DatabaseNotExistException, lambda c: c.create_table(NOWHERE, a_table(), True)),
    (errors.DatabaseNotExistException, lambda c: c.create_function(NOWHERE, a_function(), True)),
    (errors.DatabaseNotExistException, lambda c: c.create_model(NOWHERE, a_model(), True)),
    (errors.DatabaseAlreadyExistException, lambda c: c.create_database("db", A_DATABASE, False)),
    (errors.DatabaseNotEmptyException, lambda c: c.drop_database("db", True)),
    (errors.TableNotExistException, lambda c: c.get_table(ABSENT)),
    (errors.TableNotExistException, lambda c: c.get_table(NOWHERE)),
    (errors.TableNotExistException, lambda c: c.drop_table(NOWHERE, False)),
    (errors.TableNotExistException, lambda c: c.rename_table(ABSENT, "x", False)),
    (errors.TableNotExistException, lambda c: c.alter_table(ABSENT, a_table(), False)),
    (errors.TableNotExistException, lambda c: c.list_partitions(ABSENT)),
    (errors.TableNotExistException, lambda c: c.get_table_statistics(NOWHERE)),
    (errors.TableNotExistException, lambda c: c.alter_table_statistics(ABSENT, SIZES, False)),
    (errors.TableAlreadyExistException, lambda c: c.create_table(TABLE, a_table(), False)),
    (errors.TableAlreadyExistException, lambda c: c.rename_table(TABLE, "v", False)),
    (errors.CatalogException, lambda c: c.alter_table(TABLE, a_view(), False)),
    (errors.CatalogException, lambda c: c.alter_table(VIEW, a_table(), False)),
    (errors.FunctionNotExistException, lambda c: c.get_function(ABSENT)),
    (errors.FunctionNotExistException, lambda c: c.drop_function(NOWHERE, False)),
    (errors.FunctionNotExistException, lambda c: c.alter_function(ABSENT, a_function(), False)),
    (errors.FunctionAlreadyExistException,
     lambda c: c.create_function(ObjectPath("db", "F"), a_function(), False)),
    (errors.ModelNotExistException, lambda c: c.get_model(ABSENT)),
    (errors.ModelNotExistException, lambda c: c.drop_model(NOWHERE, False)),
    (errors.ModelNotExistException, lambda c: c.rename_model(ABSENT, "x", False)),
    (errors.ModelNotExistException, lambda c: c.alter_model(ABSENT, a_model(), False)),
    (errors.ModelAlreadyExistException, lambda c: c.create_model(MODEL, a_model(), False)),
    (errors.TableNotExistException,
     lambda c: c.create_partition(NOWHERE, WHOLE, a_partition(), True)),
    (errors.TableNotPartitionedException,
     lambda c: c.create_partition(TABLE, WHOLE, a_partition(), True)),
    (errors.TableNotPartitionedException, lambda c: c.list_partitions(VIEW)),
    (errors.PartitionSpecInvalidException,
     lambda c: c.create_partition(PARTED, PART, a_partition(), True)),
    (errors.PartitionSpecInvalidException,
     lambda c: c.create_partition(PARTED, ALIEN, a_partition(), True)),
    (errors.PartitionAlreadyExistsException,
     lambda c: c.create_partition(PARTED, WHOLE, a_partition(), False)),
    (errors.PartitionNotExistException, lambda c: c.get_partition(NOWHERE, WHOLE)),
    (errors.PartitionNotExistException, lambda c: c.get_partition(PARTED, PART)),
    (errors.PartitionNotExistException, lambda c: c.drop_partition(TABLE, WHOLE, False)),
    (errors.PartitionNotExistException,
     lambda c: c.alter_partition(PARTED, ALIEN, a_partition(), False)),
    (errors.PartitionNotExistException, lambda c: c.get_partition_statistics(PARTED, PART)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "call"), REFUSED)
def test_catalogs_raise_the_exception_that_pyflink_raises(
    catalog: Catalog, kind: type[errors.HeadraceError], call: Call
) -> None:
    """And it still has a code, and says where the program asked."""
    with pytest.raises(kind) as raised:
        call(catalog)
    assert type(raised.value) is kind
    assert isinstance(raised.value, errors.JavaException)
    assert isinstance(raised.value, ValueError)
    assert raised.value.stack_trace.startswith("[invalid-")
    assert "test_catalog_api.py" in str(raised.value.origin)


IGNORED: list[Call] = [
    lambda c: c.create_database("db", A_DATABASE, True),
    lambda c: c.drop_database("nowhere", True),
    lambda c: c.alter_database("nowhere", A_DATABASE, True),
    lambda c: c.create_table(TABLE, a_table(), True),
    lambda c: c.drop_table(NOWHERE, True),
    lambda c: c.rename_table(ABSENT, "x", True),
    lambda c: c.alter_table(ABSENT, a_table(), True),
    lambda c: c.create_partition(PARTED, WHOLE, a_partition("another"), True),
    lambda c: c.drop_partition(NOWHERE, WHOLE, True),
    lambda c: c.alter_partition(TABLE, WHOLE, a_partition(), True),
    lambda c: c.alter_partition_statistics(TABLE, WHOLE, SIZES, True),
    lambda c: c.alter_partition_column_statistics(TABLE, WHOLE, COLUMNS, True),
    lambda c: c.alter_table_statistics(ABSENT, SIZES, True),
    lambda c: c.alter_table_column_statistics(ABSENT, COLUMNS, True),
    lambda c: c.create_function(FUNCTION, a_function(), True),
    lambda c: c.drop_function(ABSENT, True),
    lambda c: c.alter_function(ABSENT, a_function(), True),
    lambda c: c.create_model(MODEL, a_model(), True),
    lambda c: c.drop_model(NOWHERE, True),
    lambda c: c.rename_model(ABSENT, "x", True),
    lambda c: c.alter_model(ABSENT, a_model(), True),
]


@pytest.mark.parametrize("call", IGNORED)
def test_what_may_be_ignored_changes_nothing(catalog: Catalog, call: Call) -> None:
    call(catalog)
    assert catalog.list_databases() == ["db", "default"]
    assert catalog.list_tables("db") == ["parted", "t", "v"]
    assert catalog.get_partition(PARTED, WHOLE).get_comment() == "a partition"
    assert catalog.list_functions("db") == ["f"]
    assert catalog.list_models("db") == ["m"]


def test_whether_a_partition_exists_is_a_question_that_never_fails(catalog: Catalog) -> None:
    """Also of a database, table or specification that is not there."""
    asked = [(NOWHERE, WHOLE), (ABSENT, WHOLE), (TABLE, WHOLE), (VIEW, WHOLE), (PARTED, PART)]
    assert [catalog.partition_exists(*each) for each in asked] == [False] * 5
    assert catalog.partition_exists(
        PARTED, CatalogPartitionSpec({"second": "bob", "third": "2000"})
    )


def test_statistics_are_kept_as_long_as_their_table(catalog: Catalog) -> None:
    assert catalog.get_table_statistics(TABLE).get_row_count() == -1
    catalog.alter_table_statistics(TABLE, SIZES, False)
    catalog.alter_partition_statistics(PARTED, WHOLE, SIZES, False)
    catalog.rename_table(TABLE, "renamed", False)
    renamed = ObjectPath("db", "renamed")
    assert catalog.get_table_statistics(renamed).get_properties() == {"a": "b"}
    found = catalog.bulk_get_partition_statistics(PARTED, [WHOLE])
    assert [each.get_total_size() for each in found] == [3]
    catalog.drop_table(renamed, False)
    catalog.create_table(renamed, a_table(), False)
    assert catalog.get_table_statistics(renamed).get_row_count() == -1
    assert catalog.get_partition_column_statistics(PARTED, WHOLE).get_properties() == {}


def test_of_a_partitioned_table_only_partitions_have_statistics(catalog: Catalog) -> None:
    catalog.alter_table_statistics(PARTED, SIZES, False)
    assert catalog.get_table_statistics(PARTED).get_row_count() == -1


@pytest.mark.parametrize("numbers", [(), (1,), ("a", 2, 3, 4), (1.5, 2, 3, 4), (1, 2**40, 3, 4)])
def test_statistics_are_four_numbers(numbers: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="statistics are integers of"):
        CatalogTableStatistics(*numbers)


def test_what_is_described_is_what_flink_describes(catalog: Catalog) -> None:
    function = CatalogFunction.create_instance("m.f", "python")
    assert function.get_function_language() == "PYTHON"
    assert function.get_description() == "This is a user-defined function"
    for wrong in (("", "Python"), ("m.f", "Cobol")):
        with pytest.raises(errors.InvalidArgument):
            CatalogFunction.create_instance(*wrong)
    with pytest.raises(TypeError, match="told by a dict"):
        CatalogPartitionSpec([("a", "1")])  # type: ignore[arg-type]
    partition = CatalogPartition.create_instance({}, "said")
    assert (partition.get_comment(), partition.get_description()) == ("said", None)
    assert catalog.get_table(VIEW).get_comment() == ""
    assert catalog.get_table(TABLE).get_detailed_description() is None


def test_schemas_show_types_that_are_only_texts_in_brackets() -> None:
    schema = Schema.new_builder().column("a", "INT").column("b", DataTypes.BIGINT().not_null())
    assert str(schema.build()) == "(\n  `a` [INT],\n  `b` BIGINT NOT NULL\n)"
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql("CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED) WITH ('connector'='x')")
    shown = env.get_catalog("default_catalog").get_table(ObjectPath("default_database", "t"))
    assert str(shown.get_unresolved_schema()) == (
        "(\n  `a` INT NOT NULL,\n  CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED\n)"
    )


def test_models_are_kept_by_name(catalog: Catalog) -> None:
    assert catalog.get_model(MODEL).get_options() == {"provider": "p"}
    catalog.rename_model(MODEL, "n", False)
    assert catalog.list_models("db") == ["n"]
    assert catalog.get_model(ObjectPath("db", "n")).copy().get_comment() == "a model"
    catalog.drop_model(ObjectPath("db", "n"), False)
    assert not catalog.model_exists(ObjectPath("db", "n"))


def test_object_paths_have_an_order() -> None:
    one, two = ObjectPath("a", "b"), ObjectPath("a", "c")
    assert sorted([two, one]) == [one, two]
    assert (one < two, one <= one, two > one, two >= two, one > two) == (True,) * 4 + (False,)
    assert ObjectPath("a", "b").compare_to(ObjectPath("a", "d")) == -2
    assert ObjectPath("a", "bcd").compare_to(ObjectPath("a", "b")) == 2
    with pytest.raises(TypeError):
        assert one < "a.b"  # type: ignore[operator]


def test_a_table_environment_keeps_models() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    schema = Schema.new_builder().column("x", DataTypes.INT()).build()
    builder = ModelDescriptor.for_provider("OPENAI").input_schema(schema).output_schema(schema)
    model = builder.option("task", "regression").comment("a model").build()
    assert model.get_options() == {"provider": "OPENAI", "task": "regression"}
    assert (model.get_comment(), model.get_input_schema()) == ("a model", schema)
    env.create_model("m", model)
    env.create_model("m", model, True)
    env.create_temporary_model("t", model)
    with pytest.raises(errors.InvalidQuery, match="there is a model m already"):
        env.create_model("m", model)
    assert (env.list_models(), env.list_temporary_models()) == (["m", "t"], ["t"])
    assert (env.drop_model("m"), env.drop_model("m"), env.drop_temporary_model("t")) == (
        True,
        False,
        True,
    )
    with pytest.raises(errors.InvalidQuery, match="there is no model m"):
        env.drop_model("m", False)


def test_a_databases_catalog_is_that_of_create_catalog() -> None:
    made = JdbcCatalog("c", "shop", "me", "secret", "jdbc:postgresql://host:5432/")
    assert made.get_default_database() == "shop"
    assert made.catalog.options["base-url"] == "jdbc:postgresql://host:5432/"
    with pytest.raises(errors.Unsupported, match="those of the Spark session"):
        HiveCatalog("h")


@pytest.mark.parametrize("name", [None, "", " "])
def test_names_are_not_blank(catalog: Catalog, name: Any) -> None:
    for call in (
        lambda: ObjectPath(name, "t"),
        lambda: ObjectPath("db", name),
        lambda: catalog.create_database(name, A_DATABASE, False),
    ):
        with pytest.raises(errors.InvalidArgument, match=r"the name of a (database|table) cannot"):
            call()


def test_the_table_environment_raises_catalog_exceptions() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    memory = Configuration.from_dict({"type": "generic_in_memory"})
    env.create_catalog("c", CatalogDescriptor.of("c", memory))
    for call in (
        lambda: env.use_catalog("nowhere"),
        lambda: env.use_database("nowhere"),
        lambda: env.execute_sql("USE CATALOG nowhere"),
        lambda: env.register_catalog("c", Catalog.of_type("generic_in_memory")),
    ):
        with pytest.raises(errors.CatalogException, match=r"there is (no|a) "):
            call()
    assert env.get_catalog("nowhere") is None


def test_queries_that_cannot_run_are_table_exceptions() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql("CREATE TABLE s (k INT) WITH ('connector' = 'datagen')")
    env.execute_sql("CREATE TABLE f (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/x',"
                    " 'format' = 'csv')")  # fmt: skip
    with pytest.raises(errors.TableException, match="does not support consuming"):
        env.explain_sql("INSERT INTO f SELECT COUNT(*) FROM s GROUP BY k")


def test_pyflinks_exceptions_are_headraces_own() -> None:
    """A program that catches them catches what headrace raises."""
    shim.install()
    try:
        from pyflink.util import exceptions  # type: ignore[import-not-found]
        from pyflink.util.exceptions import TableNotExistException
    finally:
        shim.uninstall()
    assert TableNotExistException is errors.TableNotExistException
    assert exceptions.JavaException is errors.JavaException
    assert not issubclass(errors.TableNotExistException, errors.CatalogException)
