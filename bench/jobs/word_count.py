"""The first program anyone runs: count the words of a text."""

from measured_job import arguments, environment, finish, lines
from pyflink.common import Types

args = arguments()
env = environment()
counts = (
    lines(env, args.input)
    .flat_map(lambda line: line.split(), output_type=Types.STRING())
    .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
    .key_by(lambda pair: pair[0], key_type=Types.STRING())
    .reduce(lambda left, right: (left[0], left[1] + right[1]))
)
finish(env, counts, args)
