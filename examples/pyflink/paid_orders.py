"""Two streams by key: an order and its payment meet, whichever comes first."""

from pyflink.common import Types
from pyflink.datastream import RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedCoProcessFunction
from pyflink.datastream.state import ValueStateDescriptor

ORDERS = [(1, "tea"), (2, "ink"), (3, "pot")]
PAYMENTS = [(3, 20), (1, 4), (9, 99)]


class Meet(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.order = runtime_context.get_state(ValueStateDescriptor("order", Types.STRING()))
        self.paid = runtime_context.get_state(ValueStateDescriptor("paid", Types.INT()))

    def process_element1(self, value, ctx: "KeyedCoProcessFunction.Context"):
        if self.paid.value() is None:
            self.order.update(value[1])
        else:
            yield f"order {value[0]}: {value[1]} for {self.paid.value()}"

    def process_element2(self, value, ctx: "KeyedCoProcessFunction.Context"):
        if self.order.value() is None:
            self.paid.update(value[1])
        else:
            yield f"order {value[0]}: {self.order.value()} for {value[1]}"


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
orders = env.from_collection(ORDERS, Types.TUPLE([Types.INT(), Types.STRING()]))
payments = env.from_collection(PAYMENTS, Types.TUPLE([Types.INT(), Types.INT()]))
(
    orders.key_by(lambda order: order[0], key_type=Types.INT())
    .connect(payments.key_by(lambda payment: payment[0], key_type=Types.INT()))
    .process(Meet(), Types.STRING())
    .print()
)
env.execute("paid orders")

# order 3: pot for 20
# order 1: tea for 4
