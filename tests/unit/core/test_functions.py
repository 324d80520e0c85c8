"""The function classes users subclass."""

import inspect
from abc import ABC
from collections.abc import Iterable
from typing import Any

import pytest

from headrace.core import (
    async_functions,
    functions,
    process_functions,
    window_functions,
)
from headrace.core.functions import (
    AggregateFunction,
    Function,
    KeyedStateStore,
    MapFunction,
    NullByteKeySelector,
    RuntimeContext,
    SourceFunction,
)
from headrace.core.process_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
)
from headrace.core.sink_functions import SinkFunction
from headrace.core.window_functions import (
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessWindowFunction,
)
from headrace.errors import Unsupported

CONCRETE = {"NullByteKeySelector", "PassThroughAllWindowFunction", "PassThroughWindowFunction"}
BARE = {"Function", "BaseBroadcastProcessFunction"}


def function_classes() -> list[type[Function]]:
    modules = (functions, process_functions, window_functions, async_functions)
    classes = [getattr(module, name) for module in modules for name in module.__all__]
    return [one for one in classes if inspect.isclass(one) and issubclass(one, Function)]


@pytest.mark.parametrize("base", function_classes())
def test_a_function_must_be_written_by_the_user(base: type[Function]) -> None:
    assert inspect.isabstract(base) is (base.__name__ not in CONCRETE | BARE)
    assert callable(base.open)
    assert callable(base.close)


def test_a_function_that_lacks_its_method_cannot_be_made() -> None:
    class Forgetful(MapFunction):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?map"):
        Forgetful()  # type: ignore[abstract]


def test_open_and_close_are_optional() -> None:
    class Counting(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
            yield value

    counting = Counting()
    counting.open(None)  # type: ignore[arg-type]
    counting.close()
    assert counting.on_timer(0, None) is None  # type: ignore[arg-type]
    assert list(counting.process_element(1, None)) == [1]  # type: ignore[arg-type]


def test_classes_with_type_parameters_take_them() -> None:
    class Windowed(ProcessWindowFunction[int, str, str, object]):
        def process(
            self, key: str, context: ProcessWindowFunction.Context[object], elements: Iterable[int]
        ) -> Iterable[str]:
            return [key]

    assert BroadcastProcessFunction[int, str, int]
    assert KeyedBroadcastProcessFunction[str, int, str, int]
    assert Windowed().process("k", None, []) == ["k"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("context", "methods"),
    [
        (KeyedProcessFunction.Context, {"get_current_key", "timer_service", "timestamp"}),
        (
            KeyedCoProcessFunction.OnTimerContext,
            {"get_current_key", "timer_service", "timestamp", "time_domain"},
        ),
        (
            KeyedBroadcastProcessFunction.OnTimerContext,
            {
                "current_processing_time",
                "current_watermark",
                "get_broadcast_state",
                "get_current_key",
                "time_domain",
                "timer_service",
                "timestamp",
            },
        ),
        (
            KeyedStateStore,
            {
                "get_aggregating_state",
                "get_list_state",
                "get_map_state",
                "get_reducing_state",
                "get_state",
            },
        ),
    ],
)
def test_contexts_ask_for_these_methods(context: type[ABC], methods: set[str]) -> None:
    assert context.__abstractmethods__ == methods


def test_runtime_context_goes_beyond_pyflinks() -> None:
    extra = {"add_accumulator", "get_accumulator", "get_distributed_cache", "get_state"}
    assert extra <= RuntimeContext.__abstractmethods__


def test_the_functions_that_come_ready_made() -> None:
    assert NullByteKeySelector().get_key("anything") == 0
    assert list(PassThroughWindowFunction[int, str, None]().apply("k", None, [1, 2])) == [1, 2]
    assert list(PassThroughAllWindowFunction[int, None]().apply(None, [1, 2])) == [1, 2]


def test_an_aggregate_function_needs_all_four_methods() -> None:
    methods = {"create_accumulator", "add", "get_result", "merge"}
    assert AggregateFunction.__abstractmethods__ == methods


@pytest.mark.parametrize("wrapper", [SourceFunction, SinkFunction])
def test_java_functions_say_why_they_cannot_run(wrapper: type) -> None:
    with pytest.raises(Unsupported, match="wraps a Java class") as caught:
        wrapper("org.example.Custom")
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__
