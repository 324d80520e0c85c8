"""SQL over a stream: how each row changes the totals, and the two largest of them."""

from pyflink.table import EnvironmentSettings, TableEnvironment

tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
tables.get_config().set("parallelism.default", "1")
sales = tables.from_elements(
    [("tea", 3), ("ink", 9), ("tea", 8), ("pot", 10), ("ink", 4)], ["thing", "price"]
)
tables.create_temporary_view("sales", sales)
totals = "SELECT thing, SUM(price) AS total FROM sales GROUP BY thing"
tables.execute_sql(totals).print()
tables.execute_sql(
    f"""
    SELECT thing, total FROM (
        SELECT *, ROW_NUMBER() OVER (ORDER BY total DESC) AS place FROM ({totals})
    ) WHERE place <= 2
    """
).print()

# +----+--------------------------------+----------------------+
# | op |                          thing |                total |
# +----+--------------------------------+----------------------+
# | +I |                            tea |                    3 |
# | +I |                            ink |                    9 |
# | -U |                            tea |                    3 |
# | +U |                            tea |                   11 |
# | +I |                            pot |                   10 |
# | -U |                            ink |                    9 |
# | +U |                            ink |                   13 |
# +----+--------------------------------+----------------------+
# 7 rows in set
# +----+--------------------------------+----------------------+
# | op |                          thing |                total |
# +----+--------------------------------+----------------------+
# | +I |                            tea |                    3 |
# | +I |                            ink |                    9 |
# | -D |                            tea |                    3 |
# | +I |                            tea |                   11 |
# | -D |                            ink |                    9 |
# | +I |                            pot |                   10 |
# | -D |                            pot |                   10 |
# | +I |                            ink |                   13 |
# +----+--------------------------------+----------------------+
# 8 rows in set
