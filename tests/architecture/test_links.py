"""Maps that name a path name one that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"[\w.<>*{}-]+(/[\w.<>*{}-]+)*/?")
_TOP = ("src", "tests", "docs", "bench", "compare", "examples", "scripts", ".ci")
_GENERATED = (".venv", ".peer-venv", "bench/.data", "bench/results")


def named_paths(text: str) -> set[str]:
    """The paths of this repository that a Markdown text names in links or as code."""
    links = {link.partition("#")[0] for link in _LINK.findall(text) if "://" not in link}
    spans = (span.partition("::")[0] for span in _CODE.findall(_FENCE.sub("", text)))
    paths = {span for span in spans if _PATH.fullmatch(span) and span.split("/")[0] in _TOP}
    return {path for path in links | paths if path and not path.startswith(_GENERATED)}


def exists(root: Path, path: str) -> bool:
    """Whether something is there; a `<name>` stands for any one name."""
    if path.startswith("/"):
        return False
    pattern = re.sub(r"<[^>]+>|\{[^}]+\}", "*", path).rstrip("/")
    return any(root.glob(pattern)) if "*" in pattern else (root / pattern).exists()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_paths_exist(repository, document):
    """A reader who follows a path arrives somewhere."""
    paths = named_paths((repository / document).read_text(encoding="utf-8"))
    missing = sorted(path for path in paths if not exists(repository, path))
    assert not missing, f"{document} names what is not there: {', '.join(missing)}"


def test_links_and_code_are_both_read():
    """Links and code spans count; web addresses, commands and generated folders do not."""
    text = (
        "[a](docs/a.md#part) [b](https://x.org/y) `src/headrace/<name>.py` `make test` `.venv/bin`"
    )
    assert named_paths(text) == {"docs/a.md", "src/headrace/<name>.py"}
