"""Catalogs keep what they are given; the manager finds it by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.core.expressions import UserFunction
from headrace.core.logical_types import BIGINT, STRING, Field, LocalZonedTimestampType
from headrace.core.table_connector import CatalogTable, TableColumn, TableSchema, WatermarkText
from headrace.errors import InvalidArgument, InvalidQuery, Unsupported
from headrace.sql.catalog import Catalog, CatalogDatabase, CatalogFunction, CatalogView
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.file_catalog import FileCatalog
from headrace.sql.function_catalog import FunctionCatalog
from headrace.sql.memory_catalog import MemoryCatalog
from headrace.sql.types import parse_type

TABLE = CatalogTable(
    TableSchema(
        (
            TableColumn(Field("id", BIGINT.not_null(), "the key")),
            TableColumn(Field("row", parse_type("ROW<a INT, `b c` ARRAY<STRING NOT NULL>>"))),
            TableColumn(Field("twice", BIGINT), computed="id * 2"),
            TableColumn(Field("ts", LocalZonedTimestampType(3)), metadata="time", virtual=True),
        ),
        WatermarkText("ts", "ts - INTERVAL '1' SECOND"),
        ("id",),
        "pk",
    ),
    {"connector": "print", "ümlaut": "it's"},
    ("id",),
    "a table",
    distribution="BY HASH(id)",
)
PLAIN = CatalogTable(TableSchema((TableColumn(Field("a", STRING)),)))
VIEW = CatalogView("SELECT a FROM t", PLAIN.schema, "c", "d", columns=("a",))


@pytest.fixture(params=["memory", "files"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Catalog:
    found = MemoryCatalog() if request.param == "memory" else FileCatalog(tmp_path / "catalog")
    found.open()
    return found


def test_a_catalog_keeps_databases_tables_and_functions(catalog: Catalog) -> None:
    catalog.put_database("sales", CatalogDatabase({"k": "v"}, "x"))
    catalog.put_table("sales", "orders", TABLE)
    catalog.put_table("sales", "recent", VIEW)
    function = CatalogFunction("module.f", options={"a": "b"}, resources=("/x",))
    catalog.put_function("sales", "f", function)
    assert catalog.databases() == ["default", "sales"]
    assert catalog.database("sales") == CatalogDatabase({"k": "v"}, "x")
    assert catalog.tables("sales") == ["orders", "recent"]
    assert catalog.views("sales") == ["recent"]
    assert (catalog.table("sales", "orders"), catalog.table("sales", "recent")) == (TABLE, VIEW)
    assert catalog.function("sales", "f") == function
    catalog.drop_table("sales", "orders")
    catalog.drop_function("sales", "f")
    assert (catalog.tables("sales"), catalog.functions("sales")) == (["recent"], [])
    catalog.drop_database("sales")
    assert catalog.databases() == ["default"]
    assert catalog.table("sales", "recent") is None


def test_partitions_follow_their_table(catalog: Catalog) -> None:
    catalog.put_table("default", "t", TABLE)
    catalog.put_partition("default", "t", {"id": "1"}, {"k": "v"})
    catalog.put_partition("default", "t", {"id": "2"}, {})
    catalog.rename_table("default", "t", "u")
    assert catalog.partitions("default", "u") == [{"id": "1"}, {"id": "2"}]
    assert catalog.partition("default", "u", {"id": "1"}) == {"k": "v"}
    catalog.drop_partition("default", "u", {"id": "1"})
    assert catalog.partitions("default", "u") == [{"id": "2"}]
    catalog.drop_table("default", "u")
    catalog.put_table("default", "u", TABLE)
    assert catalog.partitions("default", "u") == []


def test_what_is_not_there_cannot_be_dropped(catalog: Catalog) -> None:
    with pytest.raises(InvalidArgument, match="no table"):
        catalog.drop_table("default", "nope")
    with pytest.raises(InvalidArgument, match="no database"):
        catalog.tables("nope")
    with pytest.raises(InvalidArgument, match="no function"):
        catalog.drop_function("default", "nope")


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "..", "ümlaut `x`", "NUL\0", "a.b"])
def test_any_name_stays_in_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "catalog"
    catalog = FileCatalog(folder)
    catalog.open()
    catalog.put_table("default", name, PLAIN)
    catalog.put_database(name, CatalogDatabase())
    assert catalog.tables("default") == [name]
    assert sorted(catalog.databases()) == sorted(["default", name])
    outside = [each for each in tmp_path.rglob("*") if not each.is_relative_to(folder)]
    assert outside == []


def test_files_outlive_the_catalog(tmp_path: Path) -> None:
    first = FileCatalog(tmp_path)
    first.open()
    first.put_table("default", "t", TABLE)
    second = FileCatalog(tmp_path)
    second.open()
    assert second.table("default", "t") == TABLE
    assert not list(tmp_path.rglob("*.draft"))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    catalog.open()
    catalog.put_table("default", "t", PLAIN)
    (tmp_path / "default" / "tables" / "t.json").write_text("{", "utf-8")
    with pytest.raises(InvalidArgument, match=r"t\.json is damaged"):
        catalog.table("default", "t")


def test_objects_of_a_program_are_not_kept_in_files(tmp_path: Path) -> None:
    catalog = FileCatalog(tmp_path)
    catalog.open()
    with pytest.raises(Unsupported, match="program's objects"):
        catalog.put_table("default", "t", CatalogTable(PLAIN.schema, connector=object()))
    function = CatalogFunction("f", function=UserFunction("f", print))
    with pytest.raises(Unsupported, match="object of a program"):
        catalog.put_function("default", "f", function)
    with pytest.raises(InvalidArgument, match="cannot be a name"):
        catalog.put_table("default", "x" * 300, PLAIN)


def test_names_are_resolved_by_what_is_current() -> None:
    manager = CatalogManager()
    manager.create_table(("t",), PLAIN)
    assert manager.table(("t",)).path == ("default_catalog", "default_database", "t")
    assert manager.table(("default_database", "t")).table is PLAIN
    other = MemoryCatalog("main")
    manager.register_catalog("other", other)
    manager.use_catalog("other")
    assert (manager.current_catalog, manager.current_database) == ("other", "main")
    assert manager.find_table(("t",)) is None
    assert manager.table(("default_catalog", "default_database", "t")).table is PLAIN
    manager.use_database(("default_catalog", "default_database"))
    assert manager.find_table(("t",)) is not None


def test_temporary_tables_hide_permanent_ones() -> None:
    manager = CatalogManager()
    manager.create_table(("t",), PLAIN)
    assert manager.create_table(("t",), TABLE, temporary=True)
    found = manager.table(("t",))
    assert (found.table, found.temporary) == (TABLE, True)
    with pytest.raises(InvalidQuery, match="hides"):
        manager.drop_table(("t",))
    assert manager.drop_table(("t",), temporary=True)
    assert manager.table(("t",)).table is PLAIN
    assert not manager.create_table(("t",), TABLE, if_not_exists=True)
    with pytest.raises(InvalidQuery, match="already"):
        manager.create_table(("t",), TABLE)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        (("ordrs",), "orders?"),
        (("default_databse", "orders"), "default_database?"),
        (("default_catlog", "x", "orders"), "default_catalog?"),
        (("zzz",), "looked in default_catalog.default_database"),
    ],
)
def test_the_closest_name_is_suggested(path: tuple[str, ...], hint: str) -> None:
    manager = CatalogManager()
    manager.create_table(("orders",), PLAIN)
    with pytest.raises(InvalidQuery, match="there is no table or view") as caught:
        manager.table(path)
    assert hint in (caught.value.hint or "")


def test_kinds_of_catalogs_by_options(tmp_path: Path) -> None:
    manager = CatalogManager()
    manager.create_catalog("memory", {"type": "generic_in_memory", "default-database": "main"})
    manager.create_catalog("files", {"type": "filesystem", "path": str(tmp_path)})
    assert manager.catalogs() == ["default_catalog", "files", "memory"]
    assert manager.catalog("memory").default_database == "main"
    for options, message in (
        ({}, "needs the option 'type'"),
        ({"type": "filesytem"}, "no type of catalogs"),
        ({"type": "filesystem"}, "needs a folder"),
        ({"type": "generic_in_memory"}, "there is a catalog memory already"),
    ):
        with pytest.raises(InvalidQuery, match=message):
            manager.create_catalog("memory", options)
    with pytest.raises(InvalidQuery, match="is the current one"):
        manager.drop_catalog("default_catalog")


def test_functions_are_found_without_case() -> None:
    functions = FunctionCatalog(CatalogManager())
    first, second, third = (CatalogFunction(f"m.f{n}") for n in range(3))
    functions.create(("Twice",), first)
    found = functions.find(("default_database", "TWICE"))
    assert found is not None
    assert (found.function, found.temporary) == (first, False)
    functions.create(("twice",), second, temporary=True)
    functions.create_system("tWice", third)
    hits = [functions.find(("twice",)), functions.find(("default_database", "twice"))]
    assert [hit.function for hit in hits if hit is not None] == [third, second]
    assert functions.names() == ["twice"]
    assert functions.drop(("TWICE",), temporary=True, system=True)
    assert functions.drop(("twice",), temporary=True)
    assert functions.drop(("twice",))
    assert functions.find(("twice",)) is None
    assert not functions.drop(("twice",), if_exists=True)
    with pytest.raises(InvalidQuery, match="there is no function twice"):
        functions.drop(("twice",))
