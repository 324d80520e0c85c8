"""Functions of pandas columns: one that changes a column, one that makes a number of a group."""

import pandas as pd
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udaf, udf

tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
frame = pd.DataFrame({"city": ["Oslo", "Rome", "Oslo", "Rome"], "degrees": [3.0, 18.5, 5.0, 21.0]})


@udf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def fahrenheit(degrees: pd.Series) -> pd.Series:
    return degrees * 9 / 5 + 32


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def spread(degrees: pd.Series) -> float:
    return degrees.max() - degrees.min()


readings = tables.from_pandas(frame)
warm = readings.select(col("city"), fahrenheit(col("degrees")).alias("fahrenheit"))
print(warm.to_pandas().sort_values(["city", "fahrenheit"]).to_string(index=False))
by_city = readings.group_by(col("city")).select(col("city"), spread(col("degrees")).alias("spread"))
by_city.order_by(col("city")).execute().print()

# city  fahrenheit
# Oslo        37.4
# Oslo        41.0
# Rome        65.3
# Rome        69.8
# +--------------------------------+--------------------------------+
# |                           city |                         spread |
# +--------------------------------+--------------------------------+
# |                           Oslo |                            2.0 |
# |                           Rome |                            2.5 |
# +--------------------------------+--------------------------------+
# 2 rows in set
