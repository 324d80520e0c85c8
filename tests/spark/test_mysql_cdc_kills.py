"""A changing table of MariaDB to Kafka, exactly once, whatever is killed when."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing.servers import KafkaBroker
from tests.servers.mariadb import MariaDB, mariadb  # noqa: F401
from tests.spark.cdc_kills import MICRO_BATCH, REAL_TIME, Steps, kill_one_after_the_other

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
    mariadb.run(
        "CREATE TABLE killed (id INT PRIMARY KEY, v INT)",
        "INSERT INTO killed SELECT seq, 0 FROM seq_1_to_200",
    )
    kill_one_after_the_other("mysql-cdc", mariadb, broker, tmp_path, STEPS)
