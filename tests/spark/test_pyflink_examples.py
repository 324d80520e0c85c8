"""PyFlink scripts, unmodified, print here what they print there.

They are PyFlink's own examples, if they can be had, and those of `examples/pyflink/`, whose last
lines say what PyFlink prints. All run in one process, for a Spark costs seconds to start. Those
with Kafka want a broker at localhost:9092, and have one there.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.conftest import running
from tests.servers.missing import skip_without_server
from tests.spark.test_examples import promised

FLINK = "apache-flink==2.3.0"
FOLDER = "pyflink/examples"
STREAMS = (
    "basic_operations",
    "event_time_timer",
    "process_json_data",
    "state_access",
    "windowing/session_with_dynamic_gap_window",
    "windowing/session_with_gap_window",
    "windowing/sliding_time_window",
    "windowing/tumbling_count_window",
    "windowing/tumbling_time_window",
    "word_count",
)
TABLES = (
    "multi_sink",
    "pandas/pandas_udaf",
    "process_json_data",
    "process_json_data_with_udf",
    "windowing/over_window",
    "windowing/session_window",
    "windowing/sliding_window",
    "windowing/tumble_window",
    "word_count",
)
RANDOM = "table/pandas/conversion_from_dataframe"
"""Its numbers differ each time; the shape of what it prints does not."""
PRINTING = (*(f"datastream/{name}" for name in STREAMS), *(f"table/{name}" for name in TABLES))
_ROWS = [f"+I[{n},{word}]" for n, word in enumerate(["hi", "hello"] * 3, 1)] + ["+I[6,hello]"]
_OBJECTS = [f'{{"id": {n}, "country": "{name}"}}'
            for n, name in enumerate(("USA", "Canada", "Germany"), 1)]  # fmt: skip
FROM_KAFKA = {
    "avro": _ROWS,
    "bytearray": _OBJECTS,
    "csv": _ROWS,
    "json": _ROWS,
}
"""What the examples `kafka_<name>_format` write to topics, and print when they read it again."""
TO_KAFKA = "row-extractor-example"
KAFKA_PORT = 9092
"""Where all of them look for a broker."""
_SUBTASK = re.compile(r"^\d+> ")
_RUN_ALL = """
import json, logging, sys, threading
from contextlib import redirect_stdout
from headrace import shim
from headrace.cli.run import Program, execute
from headrace.datastream import StreamExecutionEnvironment as Environment

shim.install()
clients = []
launch = Environment.launch

def remember(*arguments, **options):
    clients.append(launch(*arguments, **options))
    return clients[-1]

def cancel_after(rows, output, ended):
    while not ended.wait(0.05):
        if sum("> " in line for line in open(output, encoding="utf-8")) >= rows:
            clients[-1].cancel()
            return

Environment.launch = remember
for script, arguments, output, rows in json.loads(sys.argv[1]):
    source, ended = open(script, encoding="utf-8").read(), threading.Event()
    with open(output, "w", encoding="utf-8", buffering=1) as file, redirect_stdout(file):
        if rows:
            threading.Thread(target=cancel_after, args=(rows, output, ended)).start()
        status = execute(Program(script, script, ".", source=source), arguments)
        ended.set()
    logging.root.handlers.clear()  # a script that sets logging up writes to what is closed now
    if status and not (rows and clients[-1].cancelled):
        sys.exit(f"{script} failed")
"""
"""What `headrace run` does, for several scripts on one Spark; who reads without an end is canceled
when it has printed so many rows."""


def words(text: str) -> Counter[str]:
    return Counter(_SUBTASK.sub("", line) for line in text.splitlines())


OWN = sorted((Path(__file__).resolve().parents[2] / "examples" / "pyflink").glob("*.py"))


def recorded_outputs(repository: Path) -> Path:
    """Where it is kept what PyFlink's examples print under PyFlink."""
    return repository.parent / "shared" / "conformance" / "pyflink_examples"


@pytest.fixture(scope="module")
def recorded(repository: Path) -> Path:
    """What the examples print under PyFlink."""
    folder = recorded_outputs(repository)
    if not folder.is_dir():
        pytest.skip(f"the recorded outputs are not at {folder}")
    return folder


@pytest.fixture(scope="module")
def examples(repository: Path) -> Path:
    """The scripts: of an installed PyFlink if there is one, else out of its wheel (3 MB)."""
    peer = os.environ.get("HEADRACE_PEER_PYTHON") or repository / ".peer-venv" / "bin" / "python"
    for library in Path(peer).parent.parent.glob("lib/python3.*/site-packages"):
        if (library / FOLDER / "table").is_dir():
            return library / FOLDER
    cache = repository / ".cache" / FLINK
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:  # other processes of this run need them, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / FOLDER / "table").is_dir():
            _fetch(cache)
    return cache / FOLDER


def _fetch(cache: Path) -> None:
    # The wheel of one fixed platform: no other would be built, whatever Python runs this.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary",
               ":all:", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311",
               "--platform", "manylinux2014_x86_64", "--dest", str(cache), FLINK]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    if done.returncode != 0:
        pytest.skip(f"{FLINK} cannot be downloaded: {done.stderr.strip()[-300:]}")
    with zipfile.ZipFile(next(cache.glob("*.whl"))) as wheel:
        wheel.extractall(cache, [n for n in wheel.namelist() if n.startswith(f"{FOLDER}/")])


def _runs_of_pyflinks(examples: Path, folder: Path) -> list[list[Any]]:
    """PyFlink's examples: script, arguments, and the file that takes what is printed."""
    (folder / "in").mkdir()
    printing = (*PRINTING, RANDOM)
    for name in printing:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / "in" / "first.txt").write_text("to be or not\nto be\n")
    (folder / "in" / "second.txt").write_text("be\n")
    runs = [[str(examples / f"{name}.py"), [], str(folder / name), 0] for name in printing]
    files = ["--input", str(folder / "in"), "--output", str(folder / "out")]
    return [*runs, [str(examples / "datastream/word_count.py"), files, str(folder / "files"), 0]]


@pytest.fixture(scope="module")
def local_kafka() -> Iterator[Topics]:
    """A broker where the examples look for it, with their topics."""
    place = Path(tempfile.gettempdir(), f"headrace-port-{KAFKA_PORT}.lock")
    with place.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run of these tests may have the port
        try:
            socket.create_server(("127.0.0.1", KAFKA_PORT)).close()
        except OSError as error:
            skip_without_server(f"port {KAFKA_PORT} is taken: {error}")
        with running(lambda: KafkaBroker(port=KAFKA_PORT)) as broker:
            topics = Topics(broker.bootstrap_servers)
            for name in FROM_KAFKA:
                topics.create_named(f"test_{name}_topic")
            topics.create_named(TO_KAFKA, partitions=3)
            yield topics


def _runs_with_kafka(examples: Path, folder: Path) -> list[list[Any]]:
    """PyFlink's examples that write to Kafka, and read from there until they are told to end."""
    at = examples / "datastream" / "connectors"
    runs = [[str(at / f"kafka_{name}_format.py"), [], str(folder / f"kafka_{name}"), len(rows)]
            for name, rows in FROM_KAFKA.items()]  # fmt: skip
    extractor = at / "kafka_row_field_extractor_example.py"
    return [*runs, [str(extractor), [], str(folder / TO_KAFKA), 0]]


@pytest.fixture(scope="module")
def outputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every script that is there has run, one after another in one process; where it printed."""
    folder = tmp_path_factory.mktemp("examples")
    runs: list[list[Any]] = [[str(script), [], str(folder / script.stem), 0] for script in OWN]
    with contextlib.suppress(pytest.skip.Exception):
        request.getfixturevalue("recorded")
        runs += _runs_of_pyflinks(request.getfixturevalue("examples"), folder)
    with contextlib.suppress(pytest.skip.Exception):
        request.getfixturevalue("local_kafka")
        runs += _runs_with_kafka(request.getfixturevalue("examples"), folder)
    done = subprocess.run(
        [sys.executable, "-c", _RUN_ALL, json.dumps(runs)],
        capture_output=True, text=True, check=False, timeout=240, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.mark.parametrize("script", OWN, ids=lambda path: path.stem)
def test_a_script_for_pyflink_prints_what_it_promises(script: Path, outputs: Path) -> None:
    printed = words((outputs / script.stem).read_text(encoding="utf-8"))
    assert printed == Counter(promised(script))


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTING)
def test_prints_what_pyflink_prints(
    name: str, outputs: Path, recorded: Path, examples: Path
) -> None:
    theirs = recorded / f"{name.replace('/', '_')}.out"
    printed = words((outputs / name).read_text(encoding="utf-8"))
    assert printed == words(theirs.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_data_frame_comes_back(outputs: Path, recorded: Path, examples: Path) -> None:
    theirs = (recorded / f"{RANDOM.replace('/', '_')}.out").read_text(encoding="utf-8")
    ours = (outputs / RANDOM).read_text(encoding="utf-8")
    assert [re.sub(r"\d\.\d+", "0", line) for line in ours.splitlines()] == [
        re.sub(r"\d\.\d+", "0", line) for line in theirs.splitlines()
    ]


@pytest.mark.slow
def test_word_count_between_files(outputs: Path, recorded: Path, examples: Path) -> None:
    parts = [path for path in (outputs / "out").rglob("*") if path.is_file()]
    assert [part.name.startswith("prefix-") and part.suffix == ".ext" for part in parts] == [True]
    counts = Counter(parts[0].read_text(encoding="utf-8").splitlines())
    assert counts == Counter(["(to,2)", "(be,3)", "(or,1)", "(not,1)"])
    assert (outputs / "files").read_text(encoding="utf-8") == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", FROM_KAFKA)
def test_writes_to_kafka_and_reads_it_again(name: str, outputs: Path, local_kafka: Topics) -> None:
    printed = (outputs / f"kafka_{name}").read_text(encoding="utf-8").splitlines()
    assert [line for line in printed if "is not used: no jar is needed here" in line]
    begin = printed.index("start reading data from kafka")
    assert words("\n".join(printed[begin + 1 :])) == Counter(FROM_KAFKA[name])
    assert printed[begin - 1] == "start writing data to kafka"
    assert len(local_kafka.read(f"test_{name}_topic")) == len(FROM_KAFKA[name])


@pytest.mark.slow
def test_fields_of_rows_are_keys_and_values_in_kafka(outputs: Path, local_kafka: Topics) -> None:
    found = [(each.key(), json.loads(each.value())["type"]) for each in local_kafka.read(TO_KAFKA)]
    assert Counter(found) == Counter(
        [
            (b"user-001", "purchase"),
            (b"user-002", "view"),
            (b"user-001", "add_to_cart"),
            (b"user-003", "purchase"),
        ]
    )


def test_headrace_run_serves_pyflink(tmp_path: Path) -> None:
    """The command itself, on a script of the user's."""
    script = tmp_path / "job.py"
    script.write_text(
        "from pyflink.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1, 2]).map(lambda x: x * 10).print()\n"
        "env.execute()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "run", str(script)],
        capture_output=True, text=True, check=False, timeout=240, cwd=tmp_path,
    )  # fmt: skip
    assert words(done.stdout) == words("10\n20"), done.stderr[-4000:]
    assert done.stderr == ""
