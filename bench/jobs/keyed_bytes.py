"""Keep a value of 100 bytes for each key; every record replaces its key's value."""

from measured_job import lines, run
from pyflink.common import Types
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

VALUE_BYTES = 100
RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])


class KeepLatest(KeyedProcessFunction):
    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("latest", Types.PICKLED_BYTE_ARRAY())
        self.latest = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        user, count = value
        before = self.latest.value()
        # A new object for each record: shared ones would hide what the state really weighs.
        self.latest.update(b"%0*d" % (VALUE_BYTES, count))
        yield user, 0 if before is None else int(before)


def parse(line):
    user, count, _ = line.split(",")
    return user, int(count)


def job(env, path):
    return (
        lines(env, path)
        .map(parse, output_type=RECORD)
        .key_by(lambda record: record[0], key_type=Types.STRING())
        .process(KeepLatest(), output_type=RECORD)
    )


run(job)
