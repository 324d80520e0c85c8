"""Totals by key, and words by length, printed."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

TEXT = ["rain on the roof", "the roof on the house", "", "rain"]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    lines = env.from_collection(TEXT, Types.STRING())
    words = lines.flat_map(lambda line: line.split(), Types.STRING())
    pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
    totals = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    totals.print()
    lengths = words.filter(lambda word: word != "the").map(len, Types.INT())
    lengths.key_by(lambda length: length % 2).reduce(max).print("longest")
    env.execute("rolling totals")


if __name__ == "__main__":
    main()
