"""`headrace doctor`: what a script uses that is not there, found without running it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli.inspection import Inspection, Report
from headrace.cli.main import app
from headrace.parity.table import read_table

TABLE = read_table(
    """
[reasons]
windows = "no windows"
jvm = "no JVM"
cache = "no cache"
[missing]
"*" = "notyet: windows"
[modules]
"pyflink.java_gateway" = "never: jvm"

[api."pyflink.common.typeinfo".Types]
is = "done"
from = ["pyflink.common"]
done = ["INT"]
"never: jvm" = ["RAW"]

[api."pyflink.datastream.stream_execution_environment".StreamExecutionEnvironment]
is = "done"
from = ["pyflink.datastream"]
done = ["from_collection", "get_execution_environment", "execute"]
"never: jvm" = ["create_input"]

[api."pyflink.datastream.data_stream".DataStream]
is = "done"
from = ["pyflink.datastream"]
done = ["map", "key_by", "broadcast", "connect", "print"]
"notyet: windows" = ["window_all"]
"notyet: cache" = ["cache", "get"]

[api."pyflink.datastream.data_stream".KeyedStream]
is = "done"
from = ["pyflink.datastream"]
done = ["map", "reduce"]
"notyet: windows" = ["window"]

[api."pyflink.datastream.data_stream".BroadcastStream]
is = "done"

[api."pyflink.datastream.data_stream".BroadcastConnectedStream]
is = "done"
"notyet: windows" = ["process"]

[api."pyflink.datastream.data_stream".ConnectedStreams]
is = "done"
done = ["process"]

[api."pyflink.datastream.data_stream".WindowedStream]
is = "notyet: windows"
"notyet: windows" = ["reduce"]

[api."pyflink.datastream.functions".KeyedProcessFunction]
is = "done"
from = ["pyflink.datastream"]

[api."pyflink.datastream.functions"."KeyedProcessFunction.Context"]
is = "done"
done = ["timer_service"]
"notyet: windows" = ["get_current_key"]

[api."pyflink.datastream.functions".RuntimeContext]
is = "done"
done = ["get_state"]
"never: jvm" = ["get_job_parameter"]

[api."pyflink.datastream.state".ValueState]
is = "done"
done = ["value"]
"notyet: windows" = ["update"]

[api."pyflink.datastream.window".TumblingEventTimeWindows]
is = "notyet: windows"
"notyet: windows" = ["of"]

[api."pyflink.datastream.connectors.kafka".KafkaSource]
is = "notyet: windows"
"notyet: windows" = ["builder"]

[api."pyflink.datastream.connectors.kafka".KafkaSourceBuilder]
is = "notyet: windows"
"notyet: windows" = ["build", "set_topics"]
"""
)
ENVIRONMENT = (
    "from pyflink.datastream import StreamExecutionEnvironment, DataStream\n"
    "env = StreamExecutionEnvironment.get_execution_environment()\n"
)


def inspect(tmp_path: Path, source: str) -> list[tuple[int, str]]:
    """Line and name of everything that is not supported."""
    return [(finding.line, finding.name) for finding in sorted(report(tmp_path, source).findings)]


def report(tmp_path: Path, source: str) -> Report:
    """The report on a script of this text, in this folder."""
    found = Report(TABLE)
    Inspection(found, tmp_path).inspect(tmp_path / "job.py", source)
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from pyflink.common import Types\nTypes.RAW()", [(2, "Types.RAW")]),
        ("from pyflink.common import Types as T\nT.INT(), T.RAW()", [(2, "Types.RAW")]),
        ("import pyflink.common as c\nc.Types.RAW()", [(2, "Types.RAW")]),
        ("import pyflink.common\npyflink.common.Types.RAW()", [(2, "Types.RAW")]),
        ("from pyflink import common\ncommon.typeinfo.Types.RAW()", [(2, "Types.RAW")]),
        ("from pyflink.common import *\nTypes.RAW()", [(2, "Types.RAW")]),
        ("from pyflink.java_gateway import get_gateway", [(1, "pyflink.java_gateway.get_gateway")]),
        ("import pyflink.elsewhere", [(1, "pyflink.elsewhere")]),
        (
            "from pyflink.datastream.window import TumblingEventTimeWindows as W\nW.of(3)",
            [
                (1, "pyflink.datastream.window.TumblingEventTimeWindows"),
                (2, "TumblingEventTimeWindows.of"),
            ],
        ),
    ],
)
def test_imports_and_aliases_are_followed(tmp_path, source, expected):
    """A name is the same however it was imported."""
    assert inspect(tmp_path, source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("env.create_input(1)", ["StreamExecutionEnvironment.create_input"]),
        ("ds = env.from_collection([1]).map(str)\nds.cache()", ["DataStream.cache"]),
        (
            "env.from_collection([1]).key_by(str).window(3).reduce(max).print()",
            ["KeyedStream.window", "WindowedStream.reduce"],
        ),
        ("env.from_collection([1]).key_by(str).cache()", ["KeyedStream.cache"]),
        ("def build(s: DataStream):\n    return s.cache()", ["DataStream.cache"]),
        ("def build(s: 'DataStream'):\n    return s.cache()", ["DataStream.cache"]),
        ("def f() -> DataStream: ...\nf().cache()", ["DataStream.cache"]),
        ("def show(s):\n    s.cache()\nshow(env.from_collection([1]))", ["DataStream.cache"]),
        ("def show(n, s=0):\n    s.get()\nshow(1, s=env.from_collection([1]))", ["DataStream.get"]),
        ("def make():\n    return env.from_collection([1])\nmake().get()", ["DataStream.get"]),
        ("def build(s: DataStream | None):\n    s.get()", ["DataStream.get"]),
        ("with env.from_collection([1]) as s:\n    s.cache()", ["DataStream.cache"]),
        ("a = env.from_collection([1])\nf = lambda a: a.cache.x", []),
        (
            "a = env.from_collection([1])\na.connect(a.broadcast(3)).process(1)",
            ["BroadcastConnectedStream.process"],
        ),
        ("a = env.from_collection([1])\na.connect(a).process(1)", []),
        ("[s.cache() for s in [env.from_collection([1])]]", ["DataStream.cache"]),
    ],
)
def test_types_are_inferred_along_a_chain(tmp_path, source, expected):
    """The receiver of a call is known from how it was made."""
    assert [name for _, name in inspect(tmp_path, ENVIRONMENT + source)] == expected


def test_contexts_and_attributes_of_functions_are_known(tmp_path):
    """What headrace passes to a function, and what the function keeps, have types."""
    source = (
        "from pyflink.datastream import KeyedProcessFunction\n"
        "class Count(KeyedProcessFunction):\n"
        "    def process_element(self, value, ctx: 'KeyedProcessFunction.Context'):\n"
        "        self.state.update(self.state.value() + value)\n"
        "        ctx.get_current_key()\n"
        "    def open(self, context):\n"
        "        self.state = context.get_state(None)\n"
        "        context.get_job_parameter('x', '')\n"
        "class Longer(Count):\n"
        "    def process_element(self, value, context):\n"
        "        context.get_current_key()\n"
    )
    assert inspect(tmp_path, source) == [
        (4, "ValueState.update"),
        (5, "KeyedProcessFunction.Context.get_current_key"),
        (8, "RuntimeContext.get_job_parameter"),
        (11, "KeyedProcessFunction.Context.get_current_key"),
    ]


def test_builders_are_followed(tmp_path):
    """A builder's methods give the builder, its build gives what it builds."""
    source = (
        "from pyflink.datastream.connectors.kafka import KafkaSource\n"
        "KafkaSource.builder() \\\n    .set_topics('x') \\\n    .build()\n"
    )
    assert inspect(tmp_path, source)[1:] == [
        (2, "KafkaSource.builder"),
        (3, "KafkaSourceBuilder.set_topics"),
        (4, "KafkaSourceBuilder.build"),
    ]


def test_unknown_receivers_count_only_when_the_name_is_unmistakable(tmp_path):
    """A method name decides alone only if PyFlink has it once and Python's types do not."""
    unknown = "def build(stream):\n    stream.window_all(1)\n    stream.get(1)\n    stream.map(1)\n"
    foreign = "import numpy\nnumpy.window_all(1)\nnumpy.array([1]).window_all(1)\n"
    assert inspect(tmp_path, ENVIRONMENT + unknown + foreign) == [(4, "DataStream.window_all")]
    assert inspect(tmp_path, unknown) == []


def test_local_modules_are_followed(tmp_path):
    """Modules beside the script count, once each, and their names keep their types."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").write_text("")
    (tmp_path / "parts" / "streams.py").write_text(
        ENVIRONMENT + "from . import windows\nimport job"
    )
    (tmp_path / "parts" / "windows.py").write_text("import pyflink.datastream.window")
    source = "from parts.streams import env\nimport parts.streams\nenv.create_input(1)"
    (tmp_path / "job.py").write_text(source)
    found = sorted(report(tmp_path, source).findings)
    assert [(Path(f.file).name, f.name) for f in found] == [
        ("job.py", "StreamExecutionEnvironment.create_input"),
        ("windows.py", "pyflink.datastream.window"),
    ]


def test_a_finding_says_where_and_why(tmp_path):
    """File, line, the column of the name itself, status and reason."""
    (found,) = report(tmp_path, ENVIRONMENT + "x = env.from_collection([]).cache()").findings
    assert (Path(found.file).name, found.line, found.column) == ("job.py", 3, 29)
    assert (found.status, found.reason) == ("notyet", "no cache")


@pytest.fixture
def doctor(tmp_path, monkeypatch):
    """The command on a script of this text, with the table above."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("headrace.cli.doctor.load_table", lambda: TABLE)

    def invoke(source: str, *options: str):
        Path("job.py").write_text(source)
        return CliRunner().invoke(app, ["doctor", "job.py", *options])

    return invoke


def test_a_supported_script_passes(doctor):
    """Exit code 0, and how much was looked at."""
    done = doctor(ENVIRONMENT)
    assert (done.exit_code, done.output) == (0, "3 calls checked, all supported\n")


def test_findings_are_listed(doctor):
    """Exit code 1, one line per finding."""
    done = doctor(ENVIRONMENT + "env.create_input(1)\nraise SystemExit('not run')")
    assert done.exit_code == 1
    assert done.output.splitlines()[1].split() == [
        "job.py:3:5",
        "StreamExecutionEnvironment.create_input",
        "never",
        "no",
        "JVM",
    ]
    assert done.output.splitlines()[-1] == "4 calls checked, 1 not supported"


def test_findings_as_json(doctor):
    """The same, for programs."""
    done = doctor(ENVIRONMENT + "env.create_input(1)", "--json")
    assert done.exit_code == 1
    assert json.loads(done.output) == {
        "checked": 4,
        "unsupported": [
            {
                "file": "job.py",
                "line": 3,
                "column": 5,
                "name": "StreamExecutionEnvironment.create_input",
                "status": "never",
                "reason": "no JVM",
            }
        ],
    }


def test_what_is_not_python_is_refused(doctor):
    """Exit code 2, with the line that does not parse."""
    done = doctor("x = (")
    assert done.exit_code == 2
    assert "job.py:1: '(' was never closed" in done.output
