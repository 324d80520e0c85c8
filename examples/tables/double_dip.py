"""Prices that fall, recover, fall again and rise: a pattern of rows in SQL."""

from headrace.table import EnvironmentSettings, TableEnvironment

env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
env.get_config().set("parallelism.default", 1)
env.execute_sql("""
    CREATE TEMPORARY VIEW ticks AS
    SELECT symbol, price, TO_TIMESTAMP_LTZ(at_minute * 60000, 3) AS ts
    FROM (VALUES
        ('ACME', 20, 0), ('ACME', 18, 1), ('ACME', 15, 2), ('ACME', 17, 3), ('ACME', 19, 4),
        ('ACME', 16, 5), ('ACME', 14, 6), ('ACME', 18, 7), ('ACME', 21, 8),
        ('ZINC', 30, 0), ('ZINC', 29, 1), ('ZINC', 27, 2), ('ZINC', 28, 3), ('ZINC', 33, 4)
    ) AS tick (symbol, price, at_minute)
""")
env.execute_sql("""
    CREATE TABLE dips (symbol STRING, top INT, first_bottom INT, second_bottom INT, rise INT)
    WITH ('connector' = 'print')
""")
env.execute_sql("""
    INSERT INTO dips
    SELECT *
    FROM ticks MATCH_RECOGNIZE (
        PARTITION BY symbol
        ORDER BY ts
        MEASURES
            A.price AS top,
            LAST(FALL1.price) AS first_bottom,
            LAST(FALL2.price) AS second_bottom,
            RISE.price AS rise
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A FALL1+ RECOVERY+ FALL2+ RISE)
        DEFINE
            FALL1 AS FALL1.price < LAST(price, 1),
            RECOVERY AS RECOVERY.price > LAST(price, 1),
            FALL2 AS FALL2.price < LAST(price, 1),
            RISE AS RISE.price > LAST(price, 1)
    )
""").wait()

# +I[ACME, 20, 15, 14, 18]
