"""`headrace run`: scripts, their arguments and what is printed when they fail."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from headrace import shim
from headrace.cli.failures import describe_failure
from headrace.cli.main import app
from headrace.parity.table import read_table


@pytest.fixture
def headrace(tmp_path, monkeypatch):
    """The command in an empty folder; the process is afterwards as it was."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    modules = set(sys.modules)

    def invoke(*words: str):
        return CliRunner().invoke(app, ["run", *words])

    yield invoke
    shim.uninstall()
    for name in set(sys.modules) - modules:
        if name.startswith("own_"):
            del sys.modules[name]


def write(name: str, text: str) -> Path:
    """A file in the current folder."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_script_is_main_and_sees_its_arguments(headrace):
    """Options after the script are the script's, and its folder comes first on the path."""
    write("jobs/own_part.py", "WORD = 'neighbour'")
    write(
        "jobs/job.py",
        "import sys\nfrom own_part import WORD\nprint(__name__, sys.argv, WORD)\n"
        "print(sys.path[0] == __file__.rpartition('/')[0])",
    )
    done = headrace("jobs/job.py", "in", "--master", "x", "--help")
    assert done.output.splitlines() == [
        "__main__ ['jobs/job.py', 'in', '--master', 'x', '--help'] neighbour",
        "True",
    ]
    assert done.exit_code == 0


def test_pyflink_is_headrace(headrace):
    """An unmodified script imports PyFlink and gets headrace."""
    write("job.py", "from pyflink.common import Types\nprint(Types.__module__.split('.')[0])")
    assert headrace("job.py").output == "headrace\n"


def test_functions_of_the_script_travel_by_value(headrace):
    """What the script defines is pickled whole: a worker has no such module."""
    write(
        "job.py",
        "import pathlib, cloudpickle\n"
        "def twice(x):\n    return FACTOR * x\n"
        "FACTOR = 2\n"
        "pathlib.Path('function').write_bytes(cloudpickle.dumps(twice))",
    )
    assert headrace("job.py").exit_code == 0
    sys.modules["__main__"] = ModuleType("__main__")
    assert pickle.loads(Path("function").read_bytes())(21) == 42


def test_a_module_runs_like_a_script(headrace):
    """`-m` runs a module, or the __main__ of a package, with its package set."""
    write("own_job/__init__.py", "")
    write("own_job/part.py", "WORD = 'relative'")
    write("own_job/__main__.py", "import sys\nfrom .part import WORD\nprint(WORD, sys.argv[1:])")
    done = headrace("-m", "own_job", "a", "-b")
    assert (done.output, done.exit_code) == ("relative ['a', '-b']\n", 0)


def test_options_become_settings(headrace):
    """Options reach the job through the environment."""
    write(
        "job.py",
        "import os, json\n"
        "print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('HEADRACE_')}))",
    )
    done = headrace(
        "-p", "3", "--master", "local[2]", "--conf", "a.b=c=d", "--conf", "e=", "job.py"
    )
    settings = json.loads(done.output)
    assert settings["HEADRACE_PARALLELISM"] == "3"
    assert settings["HEADRACE_MASTER"] == "local[2]"
    assert json.loads(settings["HEADRACE_CONF"]) == {"a.b": "c=d", "e": ""}


def test_state_to_start_from(headrace):
    """Flink's flags become Flink's settings; a path is that of the folder the command runs in."""
    write("job.py", "import os\nprint(os.environ['HEADRACE_CONF'])")
    done = headrace("-s", "saved", "-n", "--conf", "a=b", "job.py")
    assert json.loads(done.output) == {
        "a": "b",
        "execution.state-recovery.path": str(Path("saved").absolute()),
        "execution.state-recovery.ignore-unclaimed-state": "true",
    }
    done = headrace("--from-savepoint", "hdfs://host/saved", "job.py")
    assert json.loads(done.output) == {"execution.state-recovery.path": "hdfs://host/saved"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name the script to run"),
        (["absent.py"], "there is no file absent.py"),
        (["folder"], "folder is a folder; name the Python file"),
        (["data.csv"], "data.csv is not a Python file: its name ends in .csv"),
        (["binary.py"], "binary.py is not a Python file"),
        (["-m", "own_absent.part"], "there is no module own_absent.part"),
        (["--conf", "novalue", "job.py"], "--conf novalue is not KEY=VALUE"),
        (["-p", "0", "job.py"], "-p"),
    ],
)
def test_a_wrong_command_line_is_refused(headrace, words, message):
    """Exit code 2 and one line that says what is wrong."""
    Path("folder").mkdir()
    write("data.csv", "1,2")
    Path("binary.py").write_bytes(b"\x7fELF\x00\xff\xfe")
    done = headrace(*words)
    assert done.exit_code == 2
    assert message in done.output


def test_a_headrace_error_is_only_its_message(headrace):
    """What headrace raises on purpose needs no traceback to be understood."""
    write("job.py", "from pyflink.java_gateway import get_gateway\nget_gateway()")
    done = headrace("job.py")
    assert done.exit_code == 1
    assert done.output.startswith("[unsupported] there is no Java gateway")
    assert "job.py:2  get_gateway()" in done.output
    assert "Traceback" not in done.output
    assert "shim.py" in headrace("--traceback", "job.py").output


def test_a_user_error_shows_only_the_users_lines(headrace):
    """The traceback holds the script's frames, with their source, and none of headrace's."""
    write("job.py", "def parse(text):\n    return int(text)\n\nparse('x')")
    done = headrace("job.py")
    assert done.exit_code == 1
    assert "return int(text)" in done.output
    assert "ValueError: invalid literal" in done.output
    assert "headrace/cli" not in done.output


def test_a_syntax_error_shows_the_line(headrace):
    """A script that does not compile fails like under Python itself."""
    write("job.py", "x = (1,\nprint(x")
    done = headrace("job.py")
    assert done.exit_code == 1
    assert "job.py" in done.output
    assert "SyntaxError" in done.output


def test_a_missing_name_is_explained(headrace):
    """An import that fails says what the parity table knows, and names the doctor."""
    write("job.py", "from pyflink.common import NoSuchThing")
    done = headrace("job.py")
    assert done.exit_code == 1
    assert "pyflink.common.NoSuchThing is not a name that headrace has" in done.output
    assert "`headrace doctor job.py`" in done.output


def test_a_missing_method_is_explained(monkeypatch):
    """So does an attribute that headrace's class lacks, inherited or not."""
    base = type("DataStream", (), {"__module__": "headrace.datastream"})
    table = read_table(
        '[reasons]\nr = "no cache"\n[missing]\n[modules]\n'
        '[api."pyflink.datastream.data_stream".DataStream]\n'
        'is = "done"\n"notyet: r" = ["cache"]\n'
    )
    monkeypatch.setattr("headrace.cli.failures.load_table", lambda: table)
    stream = type("KeyedStream", (base,), {"__module__": "headrace.datastream"})()
    with pytest.raises(AttributeError) as raised:
        stream.cache()
    message = describe_failure(raised.value, "job.py")
    assert "KeyedStream.cache is not supported (not yet): no cache" in message


@pytest.mark.parametrize(
    ("leaving", "code", "output"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('no input')", 1, "no input\n"),
        ("raise KeyboardInterrupt", 130, "headrace: interrupted\n"),
    ],
)
def test_the_scripts_own_exit_code_is_kept(headrace, leaving, code, output):
    """Whatever the script decides, the shell sees."""
    write("job.py", f"import sys\n{leaving}")
    done = headrace("job.py")
    assert (done.exit_code, done.output) == (code, output)


def test_every_command_is_listed():
    """The list of commands is the command line."""
    listed = typer.main.get_command(app)
    assert {"run", "doctor", "demo"} <= set(listed.commands)
