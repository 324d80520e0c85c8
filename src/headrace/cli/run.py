"""`headrace run`: run a PyFlink script, unchanged, on headrace."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Annotated

import typer

from headrace import shim
from headrace.cli.failures import describe_failure
from headrace.cli.script import read_script, refuse
from headrace.jobs.recovery_settings import IGNORE_UNCLAIMED, RECOVERY_PATH

_INTERRUPTED = 130


Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="SCRIPT [ARGS]...", help="The script, and what it finds in sys.argv."),
]
ModuleName = Annotated[
    str | None, typer.Option("--module", "-m", help="Run a module instead of a script.")
]
Parallelism = Annotated[
    int | None,
    typer.Option("--parallelism", "-p", min=1, help="For jobs that do not set their own."),
]
Master = Annotated[
    str | None, typer.Option(help="Spark master, e.g. local[4] or spark://host:7077.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A Flink or Spark setting; may be repeated."),
]
Savepoint = Annotated[
    str | None,
    typer.Option(
        "--from-savepoint", "-s", "--fromSavepoint", metavar="PATH",
        help="Start with the state of a savepoint or of a job's checkpoint folder.",
    ),
]  # fmt: skip
AllowNonRestored = Annotated[
    bool,
    typer.Option(
        "--allow-non-restored-state", "-n", "--allowNonRestoredState",
        help="Drop state there of operators that the job does not have.",
    ),
]  # fmt: skip


def run(
    words: Words = None,
    module: ModuleName = None,
    parallelism: Parallelism = None,
    master: Master = None,
    conf: Settings = None,
    savepoint: Savepoint = None,
    allow_non_restored_state: AllowNonRestored = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="On an error, show headrace's own frames too.")
    ] = False,
) -> None:
    """Run a PyFlink script, unchanged, on headrace.

    Options come before the script; everything after it is the script's own.
    """
    words = list(words or [])
    conf = [*(conf or []), *_recovery(savepoint, allow_non_restored_state)]
    os.environ.update(settings_of(parallelism, master, conf))
    shim.install()
    if module:
        code = execute(module_program(module), words, whole_traceback=traceback)
    else:
        code = execute(script_program(words), words[1:], whole_traceback=traceback)
    if code:
        raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class Program:
    """What is to run as `__main__`."""

    typed: str
    file: str
    folder: str
    source: str | None = None
    spec: ModuleSpec | None = None

    def code(self) -> CodeType:
        if self.source is not None:
            return compile(self.source, self.file, "exec", dont_inherit=True)
        assert self.spec is not None
        assert isinstance(self.spec.loader, InspectLoader)
        code = self.spec.loader.get_code(self.spec.name)
        assert code is not None
        return code


def execute(program: Program, arguments: Sequence[str], *, whole_traceback: bool = False) -> int:
    """Run the program as `__main__` and return the exit code, errors already printed."""
    try:
        run_as_main(program, arguments)
    except SystemExit as leaving:
        return _exit_code(leaving)
    except KeyboardInterrupt:
        typer.echo("headrace: interrupted", err=True)
        return _INTERRUPTED
    except BaseException as error:
        typer.echo(describe_failure(error, program.typed, whole=whole_traceback), err=True)
        return 1
    return 0


def run_as_main(program: Program, arguments: Sequence[str]) -> None:
    """Run the program as `__main__`; what it raises comes out."""
    _enter(program, arguments)
    main = _main_module(program)
    exec(program.code(), vars(main))


def _enter(program: Program, arguments: Sequence[str]) -> None:
    sys.argv[:] = [program.typed, *arguments]
    sys.path.insert(0, program.folder)


def _main_module(program: Program) -> ModuleType:
    """A fresh `__main__`, which stays: user threads may outlive the script's last line."""
    main = ModuleType("__main__")
    main.__file__ = program.file
    main.__spec__ = program.spec
    main.__package__ = program.spec.parent if program.spec else None
    vars(main)["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    return main


def script_program(words: Sequence[str]) -> Program:
    if not words:
        raise refuse("name the script to run, e.g. `headrace run job.py`")
    script = read_script(words[0])
    # Absolute, as Python does, so that a script may change its folder and still show its lines.
    file = script.path.absolute()
    return Program(words[0], str(file), str(file.parent), source=script.source)


def module_program(name: str) -> Program:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = _find_module(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find_module(f"{name}.__main__")
    if spec is None or spec.origin is None or not isinstance(spec.loader, InspectLoader):
        raise refuse(f"there is no module {name} to run (looked in {folder} and sys.path)")
    return Program(spec.origin, spec.origin, folder, spec=spec)


def _find_module(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            return None
        raise


def _recovery(savepoint: str | None, allow_non_restored: bool) -> list[str]:
    """Where state comes from, as settings; `headrace run` beats what --conf says."""
    settings = [] if savepoint is None else [f"{RECOVERY_PATH[0]}={_absolute(savepoint)}"]
    return [*settings, f"{IGNORE_UNCLAIMED[0]}=true"] if allow_non_restored else settings


def _absolute(place: str) -> str:
    # The script may change its folder.
    return place if ":" in place else str(Path(place).absolute())


def settings_of(
    parallelism: int | None, master: str | None, conf: Sequence[str]
) -> Mapping[str, str]:
    """The options as the environment variables that jobs read."""
    chosen: dict[str, str] = {}
    if parallelism is not None:
        chosen["HEADRACE_PARALLELISM"] = str(parallelism)
    if master is not None:
        chosen["HEADRACE_MASTER"] = master
    if conf:
        chosen["HEADRACE_CONF"] = json.dumps(dict(_setting(text) for text in conf))
    return chosen


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise refuse(f"--conf {text} is not KEY=VALUE")
    return key.strip(), value.strip()


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code
    typer.echo(str(leaving.code), err=True)
    return 1
