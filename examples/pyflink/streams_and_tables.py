"""A stream becomes a table, is queried with SQL, and becomes a stream of changes again."""

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment

CHANGES = [
    Row.of_kind(RowKind.INSERT, "ann", "Oslo"),
    Row.of_kind(RowKind.INSERT, "bob", "Rome"),
    Row.of_kind(RowKind.UPDATE_BEFORE, "ann", "Oslo"),
    Row.of_kind(RowKind.UPDATE_AFTER, "ann", "Rome"),
    Row.of_kind(RowKind.DELETE, "bob", "Rome"),
]

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
tables = StreamTableEnvironment.create(env)
kind = Types.ROW_NAMED(["name", "city"], [Types.STRING(), Types.STRING()])
schema = (
    Schema.new_builder()
    .column("name", DataTypes.STRING())
    .column("city", DataTypes.STRING())
    .build()
)
people = tables.from_changelog_stream(env.from_collection(CHANGES, kind), schema)
tables.create_temporary_view("people", people)
counts = tables.sql_query("SELECT city, COUNT(*) AS people FROM people GROUP BY city")
(
    tables.to_changelog_stream(counts)
    .map(lambda row: f"{row.get_row_kind()} {row[0]} {row[1]}", Types.STRING())
    .print()
)
env.execute("streams and tables")

# +I Oslo 1
# +I Rome 1
# -D Oslo 1
# -U Rome 1
# +U Rome 2
# -U Rome 2
# +U Rome 1
