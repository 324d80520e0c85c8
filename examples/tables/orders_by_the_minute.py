"""Orders in files, counted by the minute; how the query runs is Spark's business."""

import tempfile
from pathlib import Path

from headrace.table import EnvironmentSettings, TableEnvironment

folder = Path(tempfile.mkdtemp())
(folder / "monday.csv").write_text(
    "1,ann,12.50,2024-05-06 09:00:10\n2,bob,3.00,2024-05-06 09:00:40\n"
)
(folder / "tuesday.csv").write_text("3,ann,7.25,2024-05-07 09:01:05\n")

env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
env.execute_sql(f"""
    CREATE TABLE orders (
        id BIGINT, customer STRING, amount DECIMAL(10, 2), placed TIMESTAMP(3),
        WATERMARK FOR placed AS placed - INTERVAL '5' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')
""")
result = env.execute_sql("""
    SELECT window_start AS begins, COUNT(*) AS orders, SUM(amount) AS total
    FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(placed), INTERVAL '1' MINUTE))
    GROUP BY window_start, window_end
""")
for begins, orders, total in result.collect():
    print(begins, orders, total)

# 2024-05-06 09:00:00 2 15.50
# 2024-05-07 09:01:00 1 7.25
