"""What a user sees of programs that fail, are cancelled or interrupted: nothing of Java."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

JAVA = re.compile(r"\bat org\.apache|Exception in thread|\bWARN|\bjava\.|\bscala\.|BrokenPipe|Py4J")
"""What must not be seen."""

TROUBLES = """
import os, signal, socket, sys, threading, time
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import HeadraceError
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import udf


@udf(result_type=DataTypes.INT())
def half(n):
    if n == 7:
        print("seen by the function", file=sys.stderr, flush=True)
        return n / "2"
    return n // 2


def attempt(name, work):
    try:
        work()
        print(f"[{name}] worked", flush=True)
    except HeadraceError as error:
        print(f"[{name}] {error}", flush=True)


tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
tables.get_config().set("parallelism.default", "1")
numbers = tables.from_elements([(n,) for n in range(30000)], ["n"])
tables.create_temporary_view("numbers", numbers)
tables.create_temporary_system_function("half", half)
attempt("native", lambda: list(tables.execute_sql("SELECT half(n) FROM numbers").collect()))
attempt("limit", lambda: list(
    tables.execute_sql("SELECT half(n) FROM numbers WHERE n > 7 LIMIT 2").collect()))
attempt("zero", lambda: list(tables.execute_sql("SELECT n / (n - 3) FROM numbers").collect()))


def serve(server):
    connection, _ = server.accept()
    try:
        while True:
            connection.sendall(b"a line\\n")
            time.sleep(0.02)
    except OSError:
        pass


def cancel_a_socket():
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    lines = env.socket_text_stream("127.0.0.1", server.getsockname()[1]).map(str.upper)
    results = lines.execute_and_collect()
    assert next(results) == "A LINE"
    results.close()


def die(_record):
    os.kill(os.getpid(), signal.SIGKILL)


def kill_workers():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    list(env.from_collection([1]).map(die).execute_and_collect())


attempt("socket", cancel_a_socket)
attempt("killed", kill_workers)
"""

ENDLESS = """
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.common import WatermarkStrategy
import time

def slow(n):
    time.sleep(0.001)
    return n

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
source = NumberSequenceSource(1, 10**9)
env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(slow).print()
env.enable_checkpointing(100)
env.execute()
"""


def test_failures_and_cancelled_jobs_show_nothing_of_java(tmp_path: Path) -> None:
    script = tmp_path / "troubles.py"
    script.write_text(TROUBLES)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    output = done.stdout
    assert done.returncode == 0, output + done.stderr
    assert not JAVA.search(output), output
    # Only what the user's own function wrote, and once: Spark did not call it again.
    assert set(done.stderr.splitlines()) == {"seen by the function"}, done.stderr
    line = TROUBLES.splitlines().index('        return n / "2"') + 1
    assert "[native] [user-function-failed] TypeError: unsupported operand type" in output
    assert "  in a native query with half()\n  record: (7,)\n" in output
    assert f'  at {script}:{line}  return n / "2"' in output
    assert "[limit] worked" in output
    assert "[zero] [invalid-argument] division by zero" in output
    assert "[socket] worked" in output
    assert "[killed] [job-failed] a Python worker died" in output
    assert "src/headrace" not in output


def test_an_interrupted_job_says_so_and_no_more(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS)
    job = subprocess.Popen(
        [sys.executable, "-m", "headrace", "run", str(script)], text=True, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert job.stdout is not None
    assert job.stdout.readline().strip()
    os.killpg(job.pid, signal.SIGINT)  # as a terminal does for all that it has started
    _, errors = job.communicate(timeout=120)
    assert job.returncode == 130, errors
    assert errors.splitlines()[-1] == "headrace: interrupted"
    assert not JAVA.search(errors), errors
    assert len(errors.splitlines()) <= 2, errors
