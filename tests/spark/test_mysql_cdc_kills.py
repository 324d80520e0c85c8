"""A changing table of MariaDB to Kafka, exactly once, whatever is killed when."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing.servers import KafkaBroker
from tests.servers.mariadb import MariaDB, mariadb  # noqa: F401
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
    ("metadata.after", None, REAL_TIME),
]


def test_killed_in_the_table_and_after_it_with_the_database(
    mariadb: MariaDB,  # noqa: F811
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    make_table(mariadb)
    kill_one_after_the_other("mysql-cdc", mariadb, broker, tmp_path, STEPS)


@when_asked
@pytest.mark.timeout(3000)
def test_killed_at_every_step(
    mariadb: MariaDB,  # noqa: F811
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    make_table(mariadb)
    kill_one_after_the_other("mysql-cdc", mariadb, broker, tmp_path, AT_EVERY_STEP, EVERY_WORKER)


def make_table(server: MariaDB) -> None:
    server.run(
        "DROP TABLE IF EXISTS killed",
        "CREATE TABLE killed (id INT PRIMARY KEY, v INT)",
        "INSERT INTO killed SELECT seq, 0 FROM seq_1_to_200",
    )
