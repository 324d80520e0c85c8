"""Limits come on a stream of their own and are known to every subtask."""

from headrace.common import Types
from headrace.datastream import KeyedBroadcastProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.INT())


class CheckLimits(KeyedBroadcastProcessFunction):
    """Keeps the largest amount of each account, and speaks up when it passes the limit."""

    def open(self, runtime_context):
        self.largest = runtime_context.get_state(ValueStateDescriptor("largest", Types.INT()))

    def process_element(self, value, ctx):
        _, amount = value
        self.largest.update(max(amount, self.largest.value() or 0))
        # Nothing says which stream comes first, so the check waits until both are there.
        ctx.timer_service().register_event_time_timer(0)

    def process_broadcast_element(self, value, ctx):
        name, limit = value
        ctx.get_broadcast_state(LIMITS).put(name, limit)

    def on_timer(self, timestamp, ctx):
        limit = ctx.get_broadcast_state(LIMITS).get("amount")
        if limit is not None and self.largest.value() > limit:
            yield f"{ctx.get_current_key()} spent {self.largest.value()}, more than {limit}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
payments = env.from_collection([("ann", 30), ("bob", 700), ("ann", 900)])
limits = env.from_collection([("amount", 1000), ("amount", 500)])
(
    payments.key_by(lambda payment: payment[0])
    .connect(limits.broadcast(LIMITS))
    .process(CheckLimits())
    .print()
)
env.execute("changing rules")

# ann spent 900, more than 500
# bob spent 700, more than 500
