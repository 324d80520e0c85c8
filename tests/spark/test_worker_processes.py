"""What the Python processes are like that Spark starts for a job."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyspark
import pytest

from headrace.datastream import DataStream, StreamExecutionEnvironment


def about_this_process(number: int) -> tuple[str, bool]:
    import pyspark

    return pyspark.__file__, gc.get_freeze_count() > 1000


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("keyed", [False, True], ids=["before a shuffle", "after one"])
def test_workers_use_the_installed_package_and_pass_over_what_stays(
    keyed: bool,
    env: StreamExecutionEnvironment,
    collected: Callable[[DataStream], Counter[Any]],
) -> None:
    numbers = env.from_collection([1, 2, 3])
    stream: DataStream = numbers.key_by(lambda number: number) if keyed else numbers
    assert collected(stream.map(about_this_process)) == Counter({(pyspark.__file__, True): 3})
