"""From Kafka through keyed state to all that is written exactly once: killed at each named step.

Each life of the job ends at the next step; the last one loses workers and all servers. For tests
that run with every change this is too long.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from headrace.testing.servers import KafkaBroker, OpenSearchServer
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.mariadb import MariaDB, mariadb  # noqa: F401
from tests.servers.postgres import Postgres, postgres  # noqa: F401
from tests.spark.counts import expected
from tests.spark.sessions import EVERY_STEP, when_asked
from tests.spark.test_kafka_kills import MICRO_BATCH, REAL_TIME, WORKERS, Job
from tests.spark.test_kill_matrix import IN_WORKERS

pytestmark = [when_asked, pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.mark.parametrize("mode", [MICRO_BATCH, REAL_TIME], ids=["micro-batch", "real-time"])
def test_every_step(
    broker: KafkaBroker, postgres: Postgres, mariadb: MariaDB, opensearch: OpenSearchServer,  # noqa: F811
    tmp_path: Path, mode: dict[str, str],
) -> None:  # fmt: skip
    databases = postgres, mariadb
    for server in databases:
        server.run("DROP TABLE IF EXISTS counted", "CREATE TABLE counted (line VARCHAR(40))")
    opensearch.request("DELETE", "/counted?ignore_unavailable=true")
    tables = [(server.url, server.user, server.password) for server in databases]
    also = json.dumps({"jdbc": tables, "documents": [opensearch.url]})
    environ = {**mode, "KAFKA_JOBS_ALSO": also}
    job = Job(Topics(broker.bootstrap_servers), tmp_path / "job")
    job.records, job.at_once = 9900, 120
    for step in (*EVERY_STEP, "kafka-commit.before", "kafka-commit.after"):
        job.die_at(step, job.last + 2, **environ)
    for step in ("kafka-anew.before", "kafka-anew.after"):
        job.die_at("metadata.after", job.last + 2, **environ)
        job.die_at(step, job.last, chances=1, **environ)
    servers = broker, *databases, opensearch
    job.finish(*servers, workers={*IN_WORKERS, *WORKERS}, **environ)
    wanted = expected(job.records)
    for server in databases:
        found = Counter(line for (line,) in server.rows("SELECT line FROM counted"))
        assert found == wanted, ("too many", found - wanted, "missing", wanted - found)
        assert server.prepared() == []
    assert opensearch.documents("counted") == {line: {"line": line} for line in wanted}
