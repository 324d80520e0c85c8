"""The two best-selling products of each shelf, as every sale changes them."""

from headrace.table import EnvironmentSettings, TableEnvironment

env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
env.get_config().set("headrace.table.changes", "record").set("parallelism.default", 1)
env.execute_sql("""
    CREATE TEMPORARY VIEW sales AS
    SELECT * FROM (VALUES
        ('fruit', 'apple', 5), ('fruit', 'pear', 2), ('fruit', 'plum', 3), ('tea', 'mint', 1),
        ('fruit', 'pear', 4)
    ) AS sold (shelf, product, pieces)
""")
env.execute_sql(
    "CREATE TABLE best (shelf STRING, product STRING, pieces INT) WITH ('connector' = 'print')"
)
env.execute_sql("""
    INSERT INTO best
    SELECT shelf, product, pieces
    FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY shelf ORDER BY pieces DESC) AS place
        FROM (SELECT shelf, product, SUM(pieces) AS pieces FROM sales GROUP BY shelf, product)
    )
    WHERE place <= 2
""").wait()

# +I[fruit, apple, 5]
# +I[fruit, pear, 2]
# -D[fruit, pear, 2]
# +I[fruit, plum, 3]
# +I[tea, mint, 1]
# -D[fruit, plum, 3]
# +I[fruit, pear, 6]
