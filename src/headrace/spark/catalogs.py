"""Spark's own catalogs: the session's (in memory or Hive's), and those of data sources, as JDBC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from headrace.core import logical_types as lt
from headrace.core.logical_types import Field, LogicalType
from headrace.errors import SourceUnavailable, Unsupported
from headrace.spark.native.types import quoted, spark_type
from headrace.spark.session import get_session

SESSION_CATALOG = "spark_catalog"
"""Its tables may be of Spark's first kind, which are written in another way."""
_PLAIN: dict[type[spark_types.DataType], LogicalType] = {
    spark_types.BooleanType: lt.BOOLEAN,
    spark_types.ByteType: lt.TINYINT,
    spark_types.ShortType: lt.SMALLINT,
    spark_types.IntegerType: lt.INT,
    spark_types.LongType: lt.BIGINT,
    spark_types.FloatType: lt.FLOAT,
    spark_types.DoubleType: lt.DOUBLE,
    spark_types.StringType: lt.STRING,
    spark_types.BinaryType: lt.BYTES,
    spark_types.DateType: lt.DATE,
    spark_types.TimestampType: lt.LocalZonedTimestampType(6),
    spark_types.TimestampNTZType: lt.TimestampType(6),
    spark_types.DayTimeIntervalType: lt.DayTimeIntervalType(),
    spark_types.YearMonthIntervalType: lt.YearMonthIntervalType(),
}


def logical_type(type: spark_types.DataType, nullable: bool = True) -> LogicalType:
    """A type of Spark's in Flink's words."""
    for kind, known in _PLAIN.items():
        if isinstance(type, kind):
            return known.with_nullable(nullable)
    match type:
        case spark_types.VarcharType(length=length):
            return lt.VarCharType(length, nullable=nullable)
        case spark_types.CharType(length=length):
            return lt.CharType(length, nullable=nullable)
        case spark_types.DecimalType(precision=precision, scale=scale):
            return lt.DecimalType(precision, scale, nullable=nullable)
        case spark_types.ArrayType(elementType=element, containsNull=null):
            return lt.ArrayType(logical_type(element, null), nullable=nullable)
        case spark_types.MapType(keyType=key, valueType=value, valueContainsNull=null):
            inner = logical_type(value, null)
            return lt.MapType(logical_type(key, False), inner, nullable=nullable)
        case spark_types.StructType(fields=fields):
            parts = tuple(Field(f.name, logical_type(f.dataType, f.nullable)) for f in fields)
            return lt.RowType(parts, nullable=nullable)
    raise Unsupported(f"a column of Spark's type {type.simpleString()}")


class SparkCatalogs:
    """Asks Spark about one of its catalogs; `settings` configure it in the session."""

    def __init__(self, name: str, settings: Mapping[str, str]):
        self.name = name
        self.settings = dict(settings)

    def session(self, session: SparkSession | None = None) -> SparkSession:
        found = session or get_session()
        for key, value in self.settings.items():
            found.conf.set(key, value)
        return found

    def path(self, *parts: str) -> str:
        return ".".join(quoted(part) for part in (self.name, *parts))

    def _names(self, statement: str, column: str) -> list[str]:
        try:
            rows = self.session().sql(statement).collect()
        except PySparkException as error:
            raise SourceUnavailable(
                f"Spark's catalog {self.name} cannot be asked: {str(error).splitlines()[0]}",
                hint="Check the catalog's options, and that its driver is on Spark's class path.",
            ) from None
        return sorted(row[column] for row in rows)

    def databases(self) -> list[str]:
        return self._names(f"SHOW NAMESPACES IN {self.path()}", "namespace")

    def tables(self, database: str) -> list[str]:
        return self._names(f"SHOW TABLES IN {self.path(database)}", "tableName")

    def columns(self, database: str, table: str) -> list[Field] | None:
        """A table's columns; None if there is no such table."""
        try:
            schema = self.session().table(self.path(database, table)).schema
        except AnalysisException as error:
            if "TABLE_OR_VIEW_NOT_FOUND" in str(error) or "SCHEMA_NOT_FOUND" in str(error):
                return None
            raise
        return [Field(f.name, logical_type(f.dataType, f.nullable)) for f in schema.fields]

    def run(self, statement: str) -> None:
        self.session().sql(statement)

    def create_table(self, database: str, table: str, fields: Sequence[Field], using: str) -> None:
        columns = ", ".join(
            f"{quoted(field.name)} {spark_type(field.type)}{_not_null(field)}" for field in fields
        )
        clause = f" USING {using}" if using else ""
        self.run(f"CREATE TABLE {self.path(database, table)} ({columns}){clause}")

    def read(self, session: Any, database: str, table: str) -> DataFrame:
        found = self.session(session)
        reader = found.read
        return reader.table(self.path(database, table))

    def write(self, frame: DataFrame, database: str, table: str, overwrite: bool) -> None:
        self.session(frame.sparkSession)
        if self.name == SESSION_CATALOG:
            frame.write.insertInto(self.path(database, table), overwrite)
        elif overwrite:
            frame.writeTo(self.path(database, table)).overwritePartitions()
        else:
            frame.writeTo(self.path(database, table)).append()


def _not_null(field: Field) -> str:
    return "" if field.type.nullable else " NOT NULL"
