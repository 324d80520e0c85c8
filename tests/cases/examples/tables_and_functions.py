"""Tables: expressions, functions of our own, groups, joins and a changelog."""

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, concat, lit
from pyflink.table.udf import AggregateFunction, udaf, udf, udtf


@udf(result_type=DataTypes.STRING())
def stars(number):
    return "*" * number


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def letters(text):
    for letter in sorted(set(text)):
        yield letter, text.count(letter)


class Product(AggregateFunction):
    def create_accumulator(self):
        return Row(1)

    def accumulate(self, accumulator, value):
        accumulator[0] = accumulator[0] * value

    def get_value(self, accumulator):
        return accumulator[0]

    def get_result_type(self):
        return DataTypes.BIGINT()

    def get_accumulator_type(self):
        return DataTypes.ROW([DataTypes.FIELD("p", DataTypes.BIGINT())])


def show(title, table):
    print(title)
    with table.execute().collect() as rows:
        for row in rows:
            print(row.get_row_kind().name, list(row))


def main():
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "1")
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("name", DataTypes.STRING()),
            DataTypes.FIELD("n", DataTypes.BIGINT()),
        ]
    )
    table = env.from_elements([("oak", 2), ("elm", 3), ("oak", 5)], kind)
    show("expressions", table.select(concat(col("name"), lit("!")), col("n") * 2, stars(col("n"))))
    show(
        "letters",
        table.where(col("n") < 4)
        .join_lateral(letters(col("name")).alias("l", "c"))
        .select(col("name"), col("l"), col("c")),
    )
    env.create_temporary_view("trees", table)
    env.create_temporary_function("product", udaf(Product()))
    show(
        "groups",
        env.sql_query("SELECT name, SUM(n) AS s, product(n) AS p FROM trees GROUP BY name"),
    )
    heights = env.from_elements([("oak", 20.5)], ["name", "height"])
    joined = table.left_outer_join(
        heights.select(col("name").alias("tree"), col("height")), col("name") == col("tree")
    )
    batch = joined.select(col("name"), col("n"), col("height"))
    rows = {tuple(row) for row in batch.execute().collect() if row.get_row_kind().value % 2 == 0}
    print("joined", sorted(rows, key=str))


if __name__ == "__main__":
    main()
