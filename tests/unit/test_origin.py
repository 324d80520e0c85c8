"""Which line of all those on the stack is the user's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.common import Types
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin, raising_origin


def test_the_callers_line() -> None:
    origin = calling_origin()
    assert origin is not None
    assert Path(origin.file) == Path(__file__)
    assert origin.code == "origin = calling_origin()"


def test_the_users_line_not_the_librarys() -> None:
    with pytest.raises(json.JSONDecodeError) as raised:
        json.loads("{")
    origin = raising_origin(raised.value.__traceback__)
    assert origin is not None
    assert origin.code == 'json.loads("{")'


def test_a_program_among_installed_packages(tmp_path: Path) -> None:
    script = tmp_path / "site-packages" / "job.py"
    script.parent.mkdir()
    script.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError) as raised:
        exec(compile(script.read_text(), str(script), "exec"))
    trace = raised.value.__traceback__
    assert trace is not None
    origin = raising_origin(trace.tb_next)
    assert str(origin) == f"{script}:1  1 / 0"


def test_code_that_nobody_wrote_is_not_the_users() -> None:
    with pytest.raises(TypeMismatch) as raised:
        Types.LIST(3)  # type: ignore[arg-type]
    assert raised.value.origin is not None
    assert raised.value.origin.code == "Types.LIST(3)  # type: ignore[arg-type]"
    namespace = {"__name__": "__main__", "calling_origin": calling_origin}
    exec(compile("found = calling_origin()", "<stdin>", "exec"), namespace)
    assert str(namespace["found"]).startswith("<stdin>:1")
