"""Schemas as declared and as resolved, and catalogs with what they hold."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidArgument, InvalidQuery, TypeMismatch
from headrace.table import DataTypes, Schema, TableSchema
from headrace.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    Column,
    ObjectIdentifier,
    ObjectPath,
    ResolvedSchema,
    UniqueConstraint,
)
from headrace.table.expressions import call_sql, col, lit
from headrace.table.object_names import path_parts
from tests.unit.table.in_process import changes_of, table_environment


def test_a_schema_shows_what_was_declared() -> None:
    schema = (
        Schema.new_builder()
        .column("a", DataTypes.INT().not_null())
        .column_by_expression("b", col("a") + 1)
        .column_by_metadata("m", "STRING", "key", is_virtual=True)
        .column("ts", "TIMESTAMP(3)")
        .watermark("ts", col("ts") - lit(3).seconds)
        .primary_key("a")
        .build()
    )
    assert str(schema) == (
        "(\n  `a` INT NOT NULL,\n  `b` AS [(`a` + 1)],\n"
        "  `m` [STRING] METADATA FROM 'key' VIRTUAL,\n  `ts` [TIMESTAMP(3)],\n"
        "  WATERMARK FOR `ts` AS [(`ts` - INTERVAL '3.000' SECOND)],\n"
        "  CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED\n)"
    )
    assert Schema.new_builder().from_schema(schema).build() == schema
    told = Schema.new_builder().column("a", "INT").column_by_expression("b", call_sql("a  + 1"))
    assert str(told.build()) == "(\n  `a` [INT],\n  `b` AS [a  + 1]\n)"
    one = Schema.new_builder().column_by_metadata("m", DataTypes.INT()).build()
    assert str(one) == "(\n  `m` INT METADATA\n)"
    assert one != Schema.new_builder().column_by_metadata("m", DataTypes.DATE()).build()


def test_a_schema_of_other_things() -> None:
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
    assert Schema.new_builder().from_row_data_type(row).build().columns[0].name == "a"
    resolved = ResolvedSchema.physical(["x"], [DataTypes.STRING()])
    shown = str(Schema.new_builder().from_resolved_schema(resolved).build())
    assert shown == "(\n  `x` STRING\n)"
    builder = Schema.new_builder().column("a", "INT")
    with pytest.raises(InvalidArgument, match="two columns a"):
        builder.column("a", "INT")
    with pytest.raises(InvalidArgument, match="do not fit"):
        builder.from_fields(["b"], [])
    with pytest.raises(TypeMismatch, match="takes a ROW"):
        builder.from_row_data_type(DataTypes.INT())
    with pytest.raises(InvalidQuery, match="type"):
        builder.column("c", "NUMBERS(3")
    with pytest.raises(InvalidArgument, match="one primary key"):
        builder.primary_key("a").primary_key("a")


def test_resolved_schemas() -> None:
    schema = ResolvedSchema(
        [
            Column.physical("a", DataTypes.INT().not_null()),
            Column.metadata("m", DataTypes.STRING(), "key", True),
        ],
        primary_key=UniqueConstraint.primary_key("pk", ["a"]),
    )
    assert str(schema) == (
        "(\n  `a` INT NOT NULL,\n  `m` STRING METADATA FROM 'key' VIRTUAL,\n"
        "  CONSTRAINT `pk` PRIMARY KEY (`a`) NOT ENFORCED\n)"
    )
    assert schema.get_column_count() == 2
    assert schema.get_column_names() == ["a", "m"]
    assert schema.get_primary_key_indexes() == [0]
    first = schema.get_column(0)
    assert first is not None
    assert first.is_physical()
    assert str(first.with_comment("c").rename("z")) == "`z` INT NOT NULL COMMENT 'c'"
    assert schema.get_column("q") is None
    assert schema.to_physical_row_data_type().field_names() == ["a"]
    assert schema.to_sink_row_data_type().field_names() == ["a"]
    assert schema.to_source_row_data_type().field_names() == ["a", "m"]


def test_table_schemas() -> None:
    schema = (
        TableSchema.builder().field("a", DataTypes.INT()).field("b", DataTypes.STRING()).build()
    )
    assert schema.get_field_names() == ["a", "b"]
    assert schema.get_field_data_type("b") == DataTypes.STRING() == schema.get_field_data_type(1)
    assert schema.get_field_name(5) is None
    assert repr(schema) == "root\n |-- a: INT\n |-- b: STRING\n"
    assert schema.copy() == schema
    assert schema.to_row_data_type().field_names() == ["a", "b"]


def test_names() -> None:
    assert path_parts("a.`b.c`.`d``e`") == ("a", "b.c", "d`e")
    with pytest.raises(InvalidArgument, match="no name of up to 3 parts"):
        path_parts("a.b.c.d")
    with pytest.raises(InvalidArgument, match="no name"):
        path_parts("a..b")
    path = ObjectPath.from_string("db.t")
    assert (path.get_database_name(), path.get_object_name()) == ("db", "t")
    assert path.compare_to(ObjectPath("db", "u")) < 0
    whole = ObjectIdentifier.of("c", "d", "t")
    assert str(whole) == "`c`.`d`.`t`"
    assert whole.to_object_path() == ObjectPath("d", "t")


def test_a_catalog_refuses_partitions_that_its_table_cannot_have() -> None:
    catalog = Catalog.of_type("generic_in_memory")
    schema = TableSchema(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
    plain, parted, gone = (ObjectPath("default", name) for name in ("plain", "parted", "gone"))
    catalog.create_table(plain, CatalogBaseTable.create_table(schema, [], {}), False)
    catalog.create_table(parted, CatalogBaseTable.create_table(schema, ["a", "b"], {}), False)
    whole, half = CatalogPartitionSpec({"a": "1", "b": "x"}), CatalogPartitionSpec({"a": "1"})
    other = CatalogPartitionSpec({"a": "1", "c": "x"})
    empty = CatalogPartition.create_instance({})
    for path, spec, message in (
        (gone, whole, "there is no table"),
        (ObjectPath("nowhere", "t"), whole, "there is no table"),
        (plain, whole, "not partitioned"),
        (parted, half, "partitioned by a, b, the partition says a"),
        (parted, other, "partitioned by a, b"),
    ):
        for lenient in (False, True):
            with pytest.raises(InvalidArgument, match=message):
                catalog.create_partition(path, spec, empty, lenient)
        assert not catalog.partition_exists(path, spec)
        with pytest.raises(InvalidArgument, match="no partition"):
            catalog.drop_partition(path, spec, False)
        catalog.drop_partition(path, spec, True)
        with pytest.raises(InvalidArgument, match="no partition"):
            catalog.alter_partition(path, spec, empty, False)
        with pytest.raises(InvalidArgument, match="no partition"):
            catalog.get_partition(path, spec)
    for path, message in ((gone, "there is no table"), (plain, "not partitioned")):
        with pytest.raises(InvalidArgument, match=message):
            catalog.list_partitions(path)
    assert catalog.list_partitions(parted, other) == []
    catalog.create_partition(parted, whole, empty, False)
    assert catalog.list_partitions(parted, half) == [whole]


def test_a_catalog_by_hand() -> None:
    catalog = Catalog.of_type("generic_in_memory")
    catalog.create_database("db", CatalogDatabase.create_instance({"k": "v"}, "mine"), False)
    assert catalog.get_database("db").get_properties() == {"k": "v"}
    with pytest.raises(InvalidArgument, match="database db already"):
        catalog.create_database("db", CatalogDatabase.create_instance({}), False)
    path = ObjectPath("db", "t")
    schema = TableSchema(["a"], [DataTypes.INT()])
    catalog.create_table(path, CatalogBaseTable.create_table(schema, ["a"], {"x": "y"}, "c"), False)
    found = catalog.get_table(path)
    assert found.get_options() == {"x": "y"}
    assert found.get_comment() == "c"
    assert str(found.get_unresolved_schema()) == "(\n  `a` INT\n)"
    spec = CatalogPartitionSpec({"a": "1"})
    catalog.create_partition(path, spec, CatalogPartition.create_instance({"p": "q"}), False)
    assert catalog.list_partitions(path) == [spec]
    assert catalog.get_partition(path, spec).get_properties() == {"p": "q"}
    catalog.drop_partition(path, spec, False)
    assert not catalog.partition_exists(path, spec)
    catalog.rename_table(path, "u", False)
    assert catalog.list_tables("db") == ["u"]
    with pytest.raises(InvalidArgument, match="is not empty"):
        catalog.drop_database("db", False)
    catalog.drop_table(ObjectPath("db", "u"), False)
    catalog.drop_database("db", False)
    with pytest.raises(InvalidArgument, match="no database db"):
        catalog.get_database("db")


def test_catalogs_of_an_environment() -> None:
    env = table_environment()
    env.register_catalog("mine", Catalog.of_type("generic_in_memory"))
    catalog = env.get_catalog("mine")
    assert catalog is not None
    function = CatalogFunction.create_instance(
        "tests.unit.table.test_functions_of_the_user.doubled"
    )
    catalog.create_function(ObjectPath("default", "Twice"), function, False)
    assert catalog.function_exists(ObjectPath("default", "twice"))
    table = env.from_elements([(4,)], ["i"])
    assert changes_of(env.sql_query(f"SELECT mine.`default`.twice(i) FROM {table}")) == ["+I[8]"]
