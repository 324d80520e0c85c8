"""How often each word has been seen so far."""

from headrace.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)

lines = env.from_collection(["to be or not to be", "that is the question"])
(lines.flat_map(str.split).map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).print())
env.execute("word count")

# ('to', 1)
# ('be', 1)
# ('or', 1)
# ('not', 1)
# ('to', 2)
# ('be', 2)
# ('that', 1)
# ('is', 1)
# ('the', 1)
# ('question', 1)
