"""Parse a CSV line, keep every other record, compute a new one: Python, but no state."""

from measured_job import lines, run
from pyflink.common import Types

RECORD = Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()])


def parse(line):
    user, count, amount = line.split(",")
    return user, int(count), float(amount)


def with_total(record):
    user, count, amount = record
    return user, count, round(count * amount, 2)


def job(env, path):
    return (
        lines(env, path)
        .map(parse, output_type=RECORD)
        .filter(lambda record: record[1] % 2 == 0)
        .map(with_total, output_type=RECORD)
    )


run(job)
