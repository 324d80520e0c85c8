"""How often each word has been seen so far, with a type for every stream."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)

lines = env.from_collection(["to be or not to be", "that is the question"], Types.STRING())
pair = Types.TUPLE([Types.STRING(), Types.INT()])
(
    lines.flat_map(lambda line: line.split(), Types.STRING())
    .map(lambda word: (word, 1), pair)
    .key_by(lambda counted: counted[0])
    .reduce(lambda one, other: (one[0], one[1] + other[1]))
    .print()
)
env.execute("word count")

# (to,1)
# (be,1)
# (or,1)
# (not,1)
# (to,2)
# (be,2)
# (that,1)
# (is,1)
# (the,1)
# (question,1)
