"""Tumbling windows of many keys end at the same moment, and are handed over together."""

from __future__ import annotations

import pytest

from headrace.common import Time, Types
from headrace.core.functions import AggregateFunction
from headrace.core.state import ValueStateDescriptor
from headrace.core.window_functions import ProcessWindowFunction
from headrace.datastream import OutputTag
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import HeadraceError
from headrace.runtime.vertex_task import VertexTask
from headrace.testing import OperatorHarness

KEYS = VertexTask.FIRED_AT_ONCE * 2 + 7
ODD = OutputTag("odd", Types.LONG())


class Sum(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + value[1]

    def get_result(self, accumulator):
        if accumulator < 0:
            raise ValueError("below zero")
        return accumulator or None  # nothing to tell

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Told(ProcessWindowFunction):
    """What a window has, and how many of its key have fired; of those that are gone, their sum."""

    FIRED = ValueStateDescriptor("fired", Types.LONG())
    GONE = ValueStateDescriptor("gone", Types.LONG())
    OWN = ValueStateDescriptor("own", Types.LONG())

    def process(self, key, context, elements):
        fired = context.global_state().get_state(self.FIRED)
        fired.update((fired.value() or 0) + 1)
        context.window_state().get_state(self.OWN).update(elements[0])
        if key % 2:
            yield ODD, key
        yield key, context.window().end, elements[0], fired.value()

    def clear(self, context):
        own = context.window_state().get_state(self.OWN)
        gone = context.global_state().get_state(self.GONE)
        gone.update((gone.value() or 0) + (own.value() or 0))
        own.clear()


def harness():
    def build(stream):
        windows = stream.key_by(lambda record: record[0]).window(
            TumblingEventTimeWindows.of(Time.milliseconds(10))
        )
        return windows.aggregate(Sum(), Told())

    return OperatorHarness(build)


def test_each_window_of_each_key_fires_once_in_order_of_time():
    records = [((key, 1), at) for at in (3, 4, 12, 25) for key in range(KEYS)]
    with harness() as sent:
        sent.send_all([record for record, _ in records], [at for _, at in records])
        sent.crash()
        sent.advance_watermark(19)
        windows = [(10, 2, 1), (20, 1, 2)]
        assert sent.take_outputs() == [(key, *told) for told in windows for key in range(KEYS)]
        assert sent.take_side_output(ODD) == 2 * list(range(1, KEYS, 2))
        assert sent.state_of("gone") == dict.fromkeys(range(KEYS), 3)
        sent.crash()
        assert len(sent.timers()) == KEYS
        sent.advance_watermark(29)
        assert sent.take_outputs() == [(key, 30, 1, 3) for key in range(KEYS)]
        assert sent.timers() == []


def test_an_aggregate_that_has_nothing_to_tell():
    with harness() as sent:
        sent.send_all([(1, 0), (2, 5)], [1, 2])
        sent.advance_watermark(9)
        assert sent.take_outputs() == [(2, 10, 5, 1)]


def test_a_result_that_fails_is_told_with_its_key():
    with harness() as sent:
        sent.send_all([(1, 1), (2, -1)], [1, 2])
        with pytest.raises(HeadraceError, match="below zero") as failed:
            sent.advance_watermark(9)
        told = str(failed.value)
        assert "get_result" in told
        assert "key:    2" in told
