"""What every suite shares without starting Spark."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from headrace.errors import SourceUnavailable
from headrace.testing.servers import KafkaBroker, OpenSearchServer
from tests.servers.missing import skip_without_server

S = TypeVar("S", KafkaBroker, OpenSearchServer)
ROOT = Path(__file__).resolve().parent.parent
# One Spark for all tests has too few slots for real time; those that want it start their own, and
# HEADRACE_STREAM_MODE=real-time runs any of them so.
os.environ.setdefault("HEADRACE_STREAM_MODE", "micro-batch")
IN_REAL_TIME = os.environ["HEADRACE_STREAM_MODE"] == "real-time"
ON_SPARK = ROOT / "tests" / "spark"
DOOR, ROOM = Path(__file__), ROOT / "pyproject.toml"

LONGEST_FIRST = (
    "test_kill_matrix.py",
    "test_jdbc_exactly_once.py",
    "test_kafka_kills.py",
    "test_postgres_cdc_kills.py",
    "test_mysql_cdc_kills.py",
    "test_rabbitmq_kills.py",
    "test_real_time.py",
    "test_hadoop_files.py",
    "test_hybrid_source.py",
    "test_elasticsearch_kills.py",
    "test_kafka_disk_full.py",
    "test_sql_cases_on_spark.py",
    "test_nexmark.py",
    "test_sql_faults.py",
    "test_damaged_state.py",
    "test_rocksdb_backend.py",
    "test_round_protocol.py",
    "test_suites_on_rocksdb.py",
    "test_random_programs.py",
    "test_errors.py",
    "test_savepoints.py",
    "test_faults.py",
    "test_upgrades.py",
    "test_cep.py",
    "test_match_recognize_on_spark.py",
    "test_pattern_faults.py",
    "test_table_connectors.py",
    "test_random_queries_on_spark.py",
    "test_recorded_by_pyflink.py",
)
"""Files that take a minute or more. Two processes share the files in the order of collection: a
long one that comes last would leave one of them idle."""

# A loaded machine must not turn a slow example into a failure; pytest-timeout guards the test.
settings.register_profile(
    "headrace", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("headrace")
PERCENT_OF_EXAMPLES = int(os.environ.get("HEADRACE_EXAMPLES", "100"))
"""How many of the examples that property tests ask for are tried; `make check` tries a part."""
FEWEST_EXAMPLES = 10

# The JVMs of tests live for seconds or minutes: what a second compilation of their code costs
# they never earn back. Those that tests start inherit it.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def broker() -> Iterator[KafkaBroker]:
    """A Kafka broker for all tests of this process."""
    with running(KafkaBroker) as server:
        yield server


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearchServer]:
    """An OpenSearch server for all tests of this process; they use indices of their own."""
    with running(OpenSearchServer) as server:
        yield server


@contextmanager
def running(make: Callable[[], S]) -> Iterator[S]:
    """A server of `headrace.testing`; what needs it is skipped where it cannot be fetched."""
    try:
        server = make()
        server.start()
    except SourceUnavailable as error:
        skip_without_server(error.message)
    yield server
    server.stop()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark, so that `-m 'not spark'` needs no Java; long files come first. What
    is about micro-batches is skipped in real time."""
    _try_fewer({getattr(item, "function", None) for item in items})
    for item in items:
        uses_session = "spark" in getattr(item, "fixturenames", ())
        if uses_session or item.path.is_relative_to(ON_SPARK):
            item.add_marker(pytest.mark.spark)
        of_rounds = item.get_closest_marker("micro_batch")
        if of_rounds is not None and IN_REAL_TIME:
            item.add_marker(pytest.mark.skip(reason=of_rounds.args[0]))
    items.sort(key=_turn)


def _try_fewer(functions: set[object]) -> None:
    for function in functions:
        asked = getattr(function, "_hypothesis_internal_use_settings", None)
        if asked is not None and PERCENT_OF_EXAMPLES < 100:
            fewer = max(FEWEST_EXAMPLES, asked.max_examples * PERCENT_OF_EXAMPLES // 100)
            fewer = settings(asked, max_examples=min(asked.max_examples, fewer))
            function._hypothesis_internal_use_settings = fewer  # type: ignore[attr-defined]


def _turn(item: pytest.Item) -> int:
    name = item.path.name
    if name in LONGEST_FIRST:
        return LONGEST_FIRST.index(name)
    return len(LONGEST_FIRST) + (not item.path.is_relative_to(ON_SPARK))


@pytest.hookimpl(wrapper=True, tryfirst=True)  # waiting is no part of a test's time
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """While a test marked `alone` runs, the other processes wait."""
    if not hasattr(item.config, "workerinput"):  # the only process, or one that a test started
        return (yield)
    with _room(alone=item.get_closest_marker("alone") is not None):
        return (yield)


@contextmanager
def _room(*, alone: bool) -> Iterator[None]:
    """A room for all, or for one. Who wants it alone keeps the door, so that nobody else enters
    while the others leave. Two files that are there anyway are the door and the room."""
    with DOOR.open() as door, ROOM.open() as room:
        try:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            if not alone:
                fcntl.flock(door, fcntl.LOCK_UN)
            yield
        finally:  # a process that a test forked may still have the files open
            fcntl.flock(room, fcntl.LOCK_UN)
            fcntl.flock(door, fcntl.LOCK_UN)
