"""Nexmark queries, one after the other in one process; the same statements on both engines."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path

from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment

# The job runs in another folder and, on PyFlink, without this repository on its path.
sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.nexmark.queries import text

PARALLELISM = "2"
QUERY_MARK = "BENCH-QUERY "
RESULT_MARK = "BENCH-RESULT "
DISCARD = "'connector' = 'blackhole'"


def environment() -> TableEnvironment:
    """A streaming environment of two slots."""
    configuration = Configuration()
    configuration.set_string("parallelism.default", PARALLELISM)
    # headrace's default; under PyFlink's names it would show every record's changes. Flink has no
    # such option and passes it over.
    configuration.set_string("headrace.table.changes", "micro-batch")
    mode = os.environ.get("BENCH_EXECUTION_MODE")
    if mode:
        configuration.set_string("python.execution-mode", mode)
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(settings.with_configuration(configuration).build())


def seconds_of(query: str, data: Path) -> float:
    """From submitting a query's INSERT to its end."""
    env = environment()
    script = re.sub(r"--.*", "", text(query, data, DISCARD))
    seconds = 0.0
    for statement in filter(str.strip, script.split(";")):
        start = time.perf_counter()
        result = env.execute_sql(statement)
        if statement.strip().upper().startswith("INSERT"):
            result.wait()
            seconds = time.perf_counter() - start
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, type=Path, help="a folder of events")
    parser.add_argument("--warm-up", required=True, type=Path, help="the same with few events")
    parser.add_argument("--queries", required=True, help="names with commas between them")
    args = parser.parse_args()
    total = 0.0
    for query in args.queries.split(","):
        found: dict[str, object] = {"query": query}
        try:
            seconds_of(query, args.warm_up)
            found["seconds"] = seconds_of(query, args.input)
            total += float(found["seconds"])
        except Exception as error:
            found["refused"] = str(error).strip().splitlines()[0][:300]
        print(QUERY_MARK + json.dumps(found), flush=True)
    print(RESULT_MARK + json.dumps({"execute_seconds": total, "start_up_seconds": 0.0}), flush=True)


if __name__ == "__main__":
    main()
