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


def test_every_folder_of_tests_is_described(repository):
    """Who adds a kind of tests says in CONTRIBUTING.md what they hold and need."""
    text = (repository / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = sorted(path.name for path in (repository / "tests").iterdir() if any(path.glob("*.py")))
    assert [name for name in found if f"| `tests/{name}/` |" not in text] == []


def test_commands_that_are_named_exist(repository):
    """`make x` is a target, and `-k word` the name of some test or of its file."""
    text = (repository / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), re.MULTILINE)
    named = {word for run in re.findall(r"`make ([a-z -]+)", text) for word in run.split()}
    assert named - set(targets) == set()
    tests = "".join(f"{path.name}\n{path.read_text(encoding='utf-8')}"
                    for path in (repository / "tests").rglob("test_*.py"))  # fmt: skip
    chosen = " ".join(re.findall(r"-k '?([\w ]+)", text)).split()
    names = set(re.findall(r"test_\w+", tests))
    assert [
        word for word in chosen if word != "or" and not any(word in name for name in names)
    ] == []


def test_links_and_code_are_both_read():
    """Links and code spans count; web addresses, commands and generated folders do not."""
    text = (
        "[a](docs/a.md#part) [b](https://x.org/y) `src/headrace/<name>.py` `make test` `.venv/bin`"
    )
    assert named_paths(text) == {"docs/a.md", "src/headrace/<name>.py"}
