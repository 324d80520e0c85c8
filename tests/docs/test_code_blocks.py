"""The code in the documentation runs.

A Python block whose fence says `python run` is executed; `python run spark` also needs Spark, and
`python run spark postgres` a server, whose `url`, `port`, `user` and `password` the page may use,
or `python run spark rabbitmq` one with a `port`, a `user` and a `password`. The blocks of a page
share their names, in order, as a reader would type them one after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers import rabbitmq as rabbits
from tests.servers.postgres import postgres  # noqa: F401
from tests.servers.rabbitmq import rabbitmq  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(
    r"^```python +run(?P<spark> +spark)?(?: +(?P<server>postgres|rabbitmq))?\n"
    r"(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A piece of code and where it stands."""

    code: str
    line: int
    needs_spark: bool
    server: str | None = None


def blocks(text: str) -> list[Block]:
    """The blocks of a page that are to be run."""
    return [
        Block(
            found["code"],
            text.count("\n", 0, found.start("code")),
            found["spark"] is not None,
            found["server"],
        )
        for found in _FENCE.finditer(text)
    ]


def _pages() -> list[Any]:
    found = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        runnable = blocks(path.read_text(encoding="utf-8"))
        if runnable:
            spark = any(block.needs_spark for block in runnable)
            marks = [pytest.mark.spark, pytest.mark.timeout(900)] if spark else []  # many jobs
            found.append(pytest.param(path, marks=marks, id=str(path.relative_to(ROOT))))
    return found


def execute(path: Path, **given: Any) -> None:
    """Run the blocks of a page one after the other."""
    # Functions of __main__ travel to workers by value, as those of a script do.
    names: dict[str, Any] = {"__name__": "__main__", **given}
    for block in blocks(path.read_text(encoding="utf-8")):
        # The lines before it are kept empty, so that a failure names the line of the page.
        exec(compile("\n" * block.line + block.code, str(path), "exec"), names)


@pytest.mark.parametrize("path", _pages())
def test_page(path, tmp_path, monkeypatch, request):
    """Every block marked `run` runs; what it writes stays in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {}
    servers = {block.server for block in blocks(path.read_text(encoding="utf-8"))}
    if "postgres" in servers:
        server = request.getfixturevalue("postgres")
        given = {name: getattr(server, name) for name in ("url", "port", "user", "password")}
    if "rabbitmq" in servers:
        port = request.getfixturevalue("rabbitmq").port
        given = {"port": port, "user": rabbits.USER, "password": rabbits.PASSWORD}
    execute(path, **given)


def test_failures_name_the_line_of_the_page(tmp_path):
    """Blocks share names, others are left alone, and a traceback leads to the page."""
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n```python run\nx = 1\n```\n```python\nx = 2\n```\n"
        "```python run spark\nassert x == 1\nraise KeyError(x)\n```\n",
        encoding="utf-8",
    )
    assert [block.needs_spark for block in blocks(page.read_text(encoding="utf-8"))] == [
        False,
        True,
    ]
    with pytest.raises(KeyError) as failure:
        execute(page)
    assert (failure.traceback[-1].path, failure.traceback[-1].lineno + 1) == (page, 10)
