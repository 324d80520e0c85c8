"""Metrics of tasks, and what the driver makes of them."""

import pickle

import pytest

from headrace.core.metrics import Meter, MetricGroup, merge_snapshots
from headrace.errors import InvalidArgument


def task_metrics(values: list[int]) -> MetricGroup:
    group = MetricGroup()
    inner = group.add_group("shop", "berlin")
    counter, spread = inner.counter("orders"), inner.distribution("amount")
    for value in values:
        counter.inc()
        spread.update(value)
    group.gauge("queue", lambda: len(values))
    return group


def test_snapshots_of_tasks_add_up() -> None:
    snapshots = [task_metrics(values).snapshot() for values in ([3, 9], [], [5])]
    merged = merge_snapshots(pickle.loads(pickle.dumps(snapshots)))
    assert merged == {
        "shop.berlin.orders": {"kind": "counter", "count": 3},
        "shop.berlin.amount": {"kind": "distribution", "count": 3, "sum": 17, "min": 3, "max": 9},
        "queue": {"kind": "gauge", "value": 3},
    }


def test_counter_goes_both_ways() -> None:
    counter = MetricGroup().counter("c")
    counter.inc(5)
    counter.dec()
    counter.dec(2)
    assert counter.get_count() == 2


def test_meter_forgets_what_is_longer_ago_than_its_span() -> None:
    now = 0.0
    meter = Meter(10, clock=lambda: now)
    meter.mark_event(20)
    now = 5.0
    meter.mark_event()
    assert meter.get_rate() == 2.1
    now = 12.0
    assert meter.get_rate() == 0.1
    now = 30.0
    assert (meter.get_rate(), meter.get_count()) == (0.0, 21)
    both = Meter.merge(meter.snapshot(), meter.snapshot())
    assert both == {"kind": "meter", "count": 42, "rate": 0.0}


def test_registering_again_goes_on_with_the_same_metric() -> None:
    group = MetricGroup()
    group.counter("c").inc()
    group.counter("c").inc()
    assert group.counter("c").get_count() == 2
    assert group.add_group("a") is group.add_group("a")
    with pytest.raises(InvalidArgument, match="metric 'c' is already a counter"):
        group.meter("c")
    with pytest.raises(InvalidArgument, match="above 0"):
        group.meter("m", 0)
