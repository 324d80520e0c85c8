"""Sums of keys that come and go, in real time, into files that appear with each checkpoint.

Some thousand keys are alive at a time. Each has its numbers within seconds and is never seen
again; only its time to live takes its state away.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from paced import Paced

from headrace.common import Configuration, Encoder, Time, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.connectors import FileSink, RollingPolicy
from headrace.datastream.state import StateTtlConfig, ValueStateDescriptor

KEYS_AT_A_TIME = 5_000
"""Even, so that a key's numbers are all of one split and come in order."""
OF_A_KEY = 20
LIVES_SECONDS = 60
PARALLELISM = 2
INTERVAL_MS = 1000


def key_of(number: int) -> int:
    generation = number // (KEYS_AT_A_TIME * OF_A_KEY)
    return generation * KEYS_AT_A_TIME + number % KEYS_AT_A_TIME


class Sum(KeyedProcessFunction):
    """A line for each key, when it has had all its numbers."""

    def open(self, runtime_context: RuntimeContext) -> None:
        kept = Types.TUPLE([Types.LONG(), Types.LONG()])
        descriptor = ValueStateDescriptor("sum", kept)
        descriptor.enable_time_to_live(
            StateTtlConfig.new_builder(Time.seconds(LIVES_SECONDS)).build()
        )
        self._sum = runtime_context.get_state(descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        count, total = self._sum.value() or (0, 0)
        count, total = count + 1, total + value
        self._sum.update((count, total))
        if count == OF_A_KEY:
            yield f"{ctx.get_current_key()} {total}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--began", type=float, required=True, help="when the first was due")
    parser.add_argument("--count", type=int, required=True)
    args = parser.parse_args()
    settings = Configuration()
    settings.set_string("headrace.stream.mode", "real-time")
    settings.set_string("execution.checkpointing.dir", str(args.folder / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(INTERVAL_MS)
    source = Paced(lambda number: number, args.rate, args.began, args.count)
    numbers = env.from_source(
        source, WatermarkStrategy.no_watermarks(), "numbers", type_info=Types.LONG()
    )
    keyed = numbers.uid("numbers").key_by(key_of, Types.LONG())
    files = FileSink.for_row_format(str(args.folder / "out"), Encoder.simple_string_encoder())
    files = files.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    keyed.process(Sum(), Types.STRING()).uid("sum").sink_to(files.build()).uid("files")
    env.execute("soak")


if __name__ == "__main__":
    main()
