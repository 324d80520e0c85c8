"""The first program anyone runs: count the words of a text."""

from measured_job import lines, run
from pyflink.common import Types


def job(env, path):
    return (
        lines(env, path)
        .flat_map(lambda line: line.split(), output_type=Types.STRING())
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda left, right: (left[0], left[1] + right[1]))
    )


run(job)
