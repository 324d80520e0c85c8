"""A changing table of PostgreSQL to Kafka, exactly once, whatever is killed when."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from headrace.testing.servers import KafkaBroker
from tests.servers.postgres import Postgres, postgres  # noqa: F401
from tests.spark.cdc_following import forget_what_was_followed
from tests.spark.cdc_kills import (
    AT_EVERY_STEP,
    EVERY_WORKER,
    MICRO_BATCH,
    REAL_TIME,
    Steps,
    kill_one_after_the_other,
)
from tests.spark.sessions import when_asked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
STEPS: Steps = [
    ("cdc-table", 3, MICRO_BATCH),  # in the middle of the table
    ("cdc-confirm.before", 2, MICRO_BATCH),
    ("cdc-confirm.after", 1, REAL_TIME),
]


def test_killed_at_any_step_with_the_database(
    postgres: Postgres,  # noqa: F811
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    make_table(postgres)
    kill_one_after_the_other(
        "postgres-cdc", postgres, broker, tmp_path, STEPS, where_it_is=partial(slot_of, postgres)
    )
    forget_what_was_followed(postgres)


@when_asked
@pytest.mark.timeout(3000)
def test_killed_at_every_step(
    postgres: Postgres,  # noqa: F811
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    make_table(postgres)
    steps = [*AT_EVERY_STEP, *STEPS[1:]]
    kill_one_after_the_other(
        "postgres-cdc", postgres, broker, tmp_path, steps, EVERY_WORKER, partial(slot_of, postgres)
    )
    forget_what_was_followed(postgres)


def make_table(server: Postgres) -> None:
    server.run(
        "DROP TABLE IF EXISTS killed",
        "CREATE TABLE killed (id INT PRIMARY KEY, v INT)",
        "ALTER TABLE killed REPLICA IDENTITY FULL",
        "INSERT INTO killed SELECT i, 0 FROM generate_series(1, 200) AS i",
    )


def slot_of(server: Postgres) -> Callable[[], object]:
    """Whether the slot has come to where the log ends now: the server may forget all before it."""
    ((end,),) = server.rows("SELECT pg_current_wal_lsn()::text")
    query = "SELECT 1 FROM pg_replication_slots WHERE slot_name = 'killed'"
    return lambda: server.rows(f"{query} AND confirmed_flush_lsn >= '{end}'")
