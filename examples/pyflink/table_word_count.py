"""The Table API: words of lines by a table function, counted."""

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, col
from pyflink.table.udf import udtf

tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
lines = tables.from_elements([("to be or not to be",), ("that is the question",)], ["line"])


@udtf(result_types=[DataTypes.STRING()])
def words_of(line):
    yield from line.split()


tables.create_temporary_function("words_of", words_of)
(
    lines.join_lateral(call("words_of", col("line")).alias("word"))
    .group_by(col("word"))
    .select(col("word"), col("word").count.alias("times"))
    .order_by(col("times").desc, col("word"))
    .execute()
    .print()
)

# +--------------------------------+----------------------+
# |                           word |                times |
# +--------------------------------+----------------------+
# |                             be |                    2 |
# |                             to |                    2 |
# |                             is |                    1 |
# |                            not |                    1 |
# |                             or |                    1 |
# |                       question |                    1 |
# |                           that |                    1 |
# |                            the |                    1 |
# +--------------------------------+----------------------+
# 8 rows in set
