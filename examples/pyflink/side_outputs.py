"""One stream becomes three: readings, those that are too high, and lines that are none."""

from pyflink.common import Row, Types
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

HIGH = OutputTag("high", Types.STRING())
BROKEN = OutputTag("broken", Types.STRING())
READING = Types.ROW_NAMED(["sensor", "degrees"], [Types.STRING(), Types.DOUBLE()])


class Sort(ProcessFunction):
    def process_element(self, value, ctx: "ProcessFunction.Context"):
        sensor, _, degrees = value.partition("=")
        try:
            reading = Row(sensor=sensor, degrees=float(degrees))
        except ValueError:
            yield BROKEN, value
            return
        if reading.degrees > 40:
            yield HIGH, f"{sensor} is at {degrees}"
        yield reading


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
lines = env.from_collection(["a=20.5", "b=41", "nothing", "a=", "c=-3"], Types.STRING())
readings = lines.process(Sort(), READING)
readings.print()
readings.get_side_output(HIGH).map(lambda text: f"high: {text}", Types.STRING()).print()
readings.get_side_output(BROKEN).map(lambda text: f"broken: {text!r}", Types.STRING()).print()
env.execute("side outputs")

# +I[a,20.5]
# +I[b,41.0]
# +I[c,-3.0]
# high: b is at 41
# broken: 'nothing'
# broken: 'a='
