"""Prices in euro: the rate of each is asked for from outside, many at a time, with retries."""

import asyncio

from headrace.common import Time, Types
from headrace.datastream import AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment
from headrace.datastream.async_data_stream import AsyncDataStream
from headrace.datastream.async_retry_predicates import has_exception_predicate

PRICES = [("book", 20.0, "USD"), ("lamp", 300.0, "SEK"), ("pen", 4.0, "EUR"), ("tea", 9.0, "XXX")]


class RateService:
    """Stands for a service in the network: slow, and busy when first asked for a currency."""

    def __init__(self):
        self.rates = {"USD": 0.5, "SEK": 0.1, "EUR": 1.0}
        self.asked = set()

    async def rate(self, currency):
        await asyncio.sleep(0.01)
        if currency not in self.asked:
            self.asked.add(currency)
            raise ConnectionError("busy")
        if currency not in self.rates:
            await asyncio.sleep(3600)
        return self.rates[currency]


class InEuro(AsyncFunction):
    async def open(self, runtime_context):
        self.service = RateService()  # a real client belongs here: this runs in the loop

    async def async_invoke(self, value):
        item, price, currency = value
        return [f"{item} costs {price * await self.service.rate(currency):.2f} EUR"]

    def timeout(self, value):
        return [f"{value[0]} costs {value[1]:.2f} {value[2]}"]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
prices = env.from_collection(PRICES)
retry = AsyncRetryStrategy.fixed_delay(3, 10, None, has_exception_predicate)
AsyncDataStream.ordered_wait_with_retry(
    prices, InEuro(), Time.seconds(1), retry, capacity=100, output_type=Types.STRING()
).print()
env.execute("exchange rates")

# book costs 10.00 EUR
# lamp costs 30.00 EUR
# pen costs 4.00 EUR
# tea costs 9.00 XXX
