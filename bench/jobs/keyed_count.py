"""Count the records of each key in a `ValueState`; every record yields the key's new count."""

from measured_job import lines, run
from pyflink.common import Types
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


def parse(line):
    user, count, _ = line.split(",")
    return user, int(count)


def job(env, path):
    return (
        lines(env, path)
        .map(parse, output_type=RECORD)
        .key_by(lambda record: record[0], key_type=Types.STRING())
        .process(Count(), output_type=RECORD)
    )


run(job)
