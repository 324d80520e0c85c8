"""What users are told when something is wrong: the text is part of the product."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import errors
from headrace.common import Types, WatermarkStrategy
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import (
    Boundedness,
    FileSource,
    Sink,
    SinkWriter,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
    StreamFormat,
)
from headrace.datastream.state import ValueStateDescriptor

A_SCREEN = 25
HERE = Path(__file__).name


def failure(kind: type[errors.HeadraceError], run: Callable[[], Any]) -> str:
    """The text of the error `run` ends with."""
    with pytest.raises(errors.HeadraceError) as raised:
        run()
    text = str(raised.value)
    assert type(raised.value) is kind, text
    assert len(text.splitlines()) <= A_SCREEN
    return text


def says(text: str, *parts: str) -> None:
    for part in parts:
        assert part in text, f"{part!r} is not in:\n{text}"


def run_whole(stream: DataStream) -> Callable[[], Any]:
    return lambda: list(stream.execute_and_collect())


def line_of(code: str) -> str:
    """Where in this file a piece of code is, as messages write it."""
    for number, line in enumerate(Path(__file__).read_text().splitlines(), start=1):
        if code in line:
            return f"{HERE}:{number}"
    raise AssertionError(f"no line holds {code!r}")


class Parse(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield int(value[1])  # the line to be named


@pytest.mark.smoke
def test_a_record_the_function_cannot_parse(env: StreamExecutionEnvironment, mode: str) -> None:
    records = env.from_collection([("a", "1"), ("b", "two"), ("a", "3")])
    parsed = records.key_by(lambda r: r[0]).process(Parse()).name("Parse amounts").uid("parse")
    text = failure(errors.UserFunctionFailed, run_whole(parsed))
    says(
        text, "ValueError: invalid literal for int() with base 10: 'two'",
        "in process_element of operator 'Parse amounts' (uid 'parse')",
        "key:    'b'", "record: ('b', 'two')",
        line_of("yield int(value[1])  # the line"), "yield int(value[1])",
    )  # fmt: skip


def test_a_huge_record_is_cut(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(["x" * 100_000]).map(lambda text: int(text, 36) // 0)
    text = failure(errors.UserFunctionFailed, run_whole(stream))
    assert len(text) < 2000
    says(text, "in map of operator 'Map'", "(100002 characters)")


@pytest.mark.smoke
def test_what_cannot_travel(env: StreamExecutionEnvironment) -> None:
    lock = threading.Lock()
    numbers = env.from_collection([1])
    locked = numbers.map(lambda n: (n, lock)).name("Locked")
    text = failure(errors.NotSerializable, run_whole(locked))
    says(text, "the function of 'Locked' cannot be sent to the workers", "_thread.lock",
         line_of("lambda n: (n, lock)"), "Create that in open() instead")  # fmt: skip
    keyed = numbers.key_by(lambda n: bool(lock) and n).map(lambda n: n)
    text = failure(errors.NotSerializable, run_whole(keyed))
    says(text, "the key selector or partitioner after 'Source: Collection Source'")


class UsesState(MapFunction):
    def __init__(self, reads_in_open: bool = False):
        self._reads_in_open = reads_in_open

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))
        if self._reads_in_open:
            self._state.value()  # no key yet

    def map(self, value: Any) -> Any:
        return self._state.value()


def test_state_without_a_key(env: StreamExecutionEnvironment, mode: str) -> None:
    numbers = env.from_collection([1])
    text = failure(errors.StateAccessError, run_whole(numbers.map(UsesState())))
    says(text, "state 'seen' was asked for on a stream that is not keyed",
         "in open of operator 'Map'", line_of("runtime_context.get_state("),
         "Call key_by(...) before")  # fmt: skip
    early = numbers.key_by(lambda n: n).map(UsesState(reads_in_open=True))
    text = failure(errors.StateAccessError, run_whole(early))
    says(text, "in open of operator 'Map'", line_of("self._state.value()  # no key yet"), "key")


class SetsTimer(ProcessFunction):
    def __init__(self, at: Any):
        self._at = at

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(self._at)  # not keyed
        return iter(())


class SetsKeyedTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())
        return iter(())


def test_timers(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1])
    text = failure(errors.StateAccessError, run_whole(numbers.process(SetsTimer(5))))
    says(text, "a timer was used on a stream that is not keyed", "record: 1",
         line_of("(self._at)  # not keyed"))  # fmt: skip
    timeless = numbers.key_by(lambda n: n).process(SetsKeyedTimer())
    text = failure(errors.InvalidArgument, run_whole(timeless))
    says(text, "a timer needs a time in milliseconds, not None", "key:    1",
         "ctx.timestamp() is None unless timestamps were assigned")  # fmt: skip


@pytest.mark.smoke
def test_mistyped_path(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    path = str(tmp_path / "no-such-folder")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    text = failure(errors.SourceUnavailable, run_whole(lines.map(lambda line: line)))
    says(text, f"there is no file or folder {path}", HERE, "Check the path")


def test_wrong_types(env: StreamExecutionEnvironment, mode: str) -> None:
    numbers = env.from_collection([1, 2])
    wrong = numbers.map(lambda n: "text", Types.INT()).name("Typed")
    text = failure(errors.TypeMismatch, run_whole(wrong))
    says(text, "'text'", "operator 'Typed'")
    with pytest.raises(errors.TypeMismatch, match="record 1 of the collection"):
        env.from_collection([1, "two"], Types.INT())


class Opaque:
    """Hashable, but not the same in another process."""


@pytest.mark.smoke
def test_keys(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([7])

    def keyed_by(selector: Callable[[Any], Any]) -> Callable[[], Any]:
        return run_whole(numbers.key_by(selector).map(lambda n: n).name("Keyed"))

    text = failure(errors.TypeMismatch, keyed_by(lambda n: Opaque()))
    says(text, "a key of type Opaque cannot be distributed", "Let the key selector return an int")
    text = failure(errors.UserFunctionFailed, keyed_by(lambda n: n["field"]))
    says(text, "TypeError: 'int' object is not subscriptable", "in key selector of operator",
         "'Keyed'", "record: 7", line_of('lambda n: n["field"]'))  # fmt: skip


def test_partitioner_out_of_range(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([7]).partition_custom(lambda key, n: key, lambda v: v)
    text = failure(errors.InvalidArgument, run_whole(stream.map(lambda n: n)))
    says(text, "the partitioner returned 7 for 2 partitions", "Return an int from 0 to 1",
         "record: 7")  # fmt: skip


class ReturnsNumber(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        return value  # instead of yielding it


class FailsToOpen(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise ConnectionError("no database")  # on purpose

    def map(self, value: Any) -> Any:
        return value


def test_functions_that_fail(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1])
    text = failure(errors.UserFunctionFailed, run_whole(numbers.process(ReturnsNumber())))
    says(
        text, "TypeError: 'int' object is not iterable", "in process_element of operator 'PROCESS'"
    )
    text = failure(errors.UserFunctionFailed, run_whole(numbers.map(FailsToOpen())))
    says(text, "ConnectionError: no database", "in open of operator 'Map'",
         line_of('("no database")  # on purpose'))  # fmt: skip


def test_sum_of_a_missing_field(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([("a", 1), ("a", 2)]).key_by(lambda r: r[0]).sum(5)
    with pytest.raises(errors.HeadraceError) as raised:
        list(stream.execute_and_collect())
    says(str(raised.value), "operator 'Keyed Reduce'", "5", "key:    'a'", "record: ('a', 2)")


class BrokenWriter(SinkWriter[Any]):
    def write(self, value: Any, timestamp: int | None) -> None:
        raise OSError("disk full")


class BrokenSink(Sink[Any]):
    def create_writer(self, task: Any) -> SinkWriter[Any]:
        return BrokenWriter()


class OneSplit(SplitEnumerator):
    def splits(self) -> list[Split]:
        return [Split("only")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return 3


class BrokenReader(SplitReader[Any]):
    def read(self, split: Split, start: Any, end: Any) -> Iterable[Any]:
        yield 1
        raise ConnectionError("broker gone")  # while reading


class BrokenSource(Source[Any]):
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return OneSplit()

    def create_reader(self) -> SplitReader[Any]:
        return BrokenReader()


def test_connectors_that_fail(env: StreamExecutionEnvironment, mode: str) -> None:
    env.from_collection([1]).sink_to(BrokenSink()).name("Ledger")
    text = failure(errors.UserFunctionFailed, env.execute)
    says(text, "OSError: disk full", "in write of operator 'Ledger'", "record: 1",
         line_of('OSError("disk full")'))  # fmt: skip
    read = env.from_source(BrokenSource(), WatermarkStrategy.no_watermarks(), "orders")
    text = failure(errors.UserFunctionFailed, run_whole(read.uid("orders")))
    says(text, "ConnectionError: broker gone", "split 'only' from 0",
         "in read of operator 'Source: orders' (uid 'orders')",
         line_of('("broker gone")  # while reading'))  # fmt: skip


def test_graphs_that_cannot_run(env: StreamExecutionEnvironment) -> None:
    """Everything that can be told before the job starts is told where it was written."""
    numbers = env.from_collection([1], Types.INT())
    says(failure(errors.InvalidGraph, env.execute), "there is nothing to execute", HERE)
    other = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    says(failure(errors.TypeMismatch, lambda: numbers.union(other)),
         "streams of different environments cannot be united", HERE)  # fmt: skip
    texts = env.from_collection(["a"], Types.STRING())
    says(failure(errors.TypeMismatch, lambda: numbers.union(texts)),
         "streams of different types cannot be united", HERE)  # fmt: skip
    keyed = numbers.key_by(lambda n: n)
    says(failure(errors.TypeMismatch, lambda: numbers.process(Parse())),
         "process() needs a ProcessFunction", "call key_by(...) first")  # fmt: skip
    says(failure(errors.TypeMismatch, lambda: keyed.process(SetsTimer(1))),
         "process() needs a KeyedProcessFunction", "subclass KeyedProcessFunction")  # fmt: skip
    says(failure(errors.TypeMismatch, lambda: numbers.map(FailsToOpen)),
         "the class FailsToOpen, not an instance of it", "Write FailsToOpen().")  # fmt: skip
    says(failure(errors.InvalidArgument, lambda: env.set_max_parallelism(0)),
         "max parallelism must be a whole number above 0, not 0", HERE)  # fmt: skip


def test_plans_that_cannot_run(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1])
    twins = numbers.map(lambda n: n).uid("same").map(lambda n: n).uid("same")
    text = failure(errors.InvalidGraph, run_whole(twins))
    says(text, "the uid 'same' is used by both 'Map' and 'Map'", "(first used at", HERE)
    wide = numbers.key_by(lambda n: n).map(lambda n: n).set_max_parallelism(1)
    text = failure(errors.InvalidGraph, run_whole(wide))
    says(text, "'Map' has parallelism 2 but max parallelism 1", "Raise set_max_parallelism")
