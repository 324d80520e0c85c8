"""The parity table is complete and true."""

from __future__ import annotations

import hashlib
import importlib
import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from headrace import shim
from headrace.parity import ApiClass, Status, load_table, resolve
from headrace.parity.page import AREAS, render_page
from headrace.parity.sync import derive, rewrite, status_of_gap
from headrace.parity.table import TABLE_FILE, parse_status, read_table

TABLE = load_table()
NAMES = (2610, "df98372af6eada0b")
"""How many names PyFlink 2.3.0 has, and a checksum of them: `test_every_public_name_is_listed` has
compared them one by one where a listing was at hand."""
SYNC = "run `python -m headrace.parity --sync --docs`"


@pytest.fixture(scope="session")
def listing(repository: Path):
    """Every public name of PyFlink 2.3, where the listing is at hand."""
    path = repository.parent / "shared" / "conformance" / "pyflink_api.json"
    if not path.is_file():
        pytest.skip(f"no listing of PyFlink's names at {path}")
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_public_name_is_listed(listing):
    """Classes with their exports and methods, and functions: all of them and no others."""
    wanted = {
        (module, name): (set(entry["exported_from"]), set(entry["methods"]))
        for module, entries in listing["classes"].items()
        for name, entry in entries.items()
    }
    listed = {(c.module, c.name): (set(c.exports), set(c.methods)) for c in TABLE.classes}
    assert listed == wanted
    functions = {module: set(names) for module, names in listing["functions"].items()}
    assert {module: set(names) for module, names in TABLE.functions.items()} == functions


def test_no_public_name_was_lost():
    """The table has the names that PyFlink 2.3.0 has: these many, with this checksum."""
    names = sorted(
        f"{known.module}.{known.name}.{method}"
        for known in TABLE.classes
        for method in ("", *known.methods)
    )
    names += sorted(f"{module}.{name}" for module, own in TABLE.functions.items() for name in own)
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()
    assert (len(names), digest[:16]) == NAMES


@pytest.mark.parametrize("known", TABLE.classes, ids=lambda c: c.full_name)
def test_what_the_table_says_of_a_class_is_true(known: ApiClass):
    """What is done is there, at every import path; what is not done is absent or refuses."""
    there = resolve.has_class(known.module, known.exports, known.name)
    assert there == known.status.is_done, f"{known.full_name}: {SYNC}"
    wrong = [
        method
        for method, status in known.methods.items()
        if status.is_done != (there and resolve.has_method(known.module, known.name, method))
    ]
    assert not wrong, f"{known.full_name}: {SYNC}; it is wrong about {', '.join(wrong)}"


@pytest.mark.parametrize("module", TABLE.functions)
def test_what_the_table_says_of_functions_is_true(module):
    """As for classes."""
    wrong = [
        name
        for name, status in TABLE.functions[module].items()
        if status.is_done != resolve.has_function(module, name)
    ]
    assert not wrong, f"{module}: {SYNC}; it is wrong about {', '.join(wrong)}"


@pytest.mark.parametrize("module", TABLE.other_modules)
def test_what_the_table_says_of_other_modules_is_true(module):
    """A module outside the listing is done when the shim serves it."""
    shim.install()
    try:
        importlib.import_module(module)
        there = True
    except ModuleNotFoundError:
        there = False
    finally:
        shim.uninstall()
    if module != "pyflink.java_gateway":  # can be imported, and refuses when it is used
        assert there == TABLE.other_modules[module].is_done


def test_every_gap_has_a_reason():
    """A name that is not there says why, in words."""
    silent = [
        name for name, status in TABLE.all_names() if not status.is_done and not status.reason
    ]
    assert not silent


def test_every_reason_and_rule_is_of_use():
    """A reason that no rule gives is dead text."""
    given = {text.partition(": ")[2] for text in TABLE.missing_rules.values()}
    given |= {status.reason_key for status in TABLE.other_modules.values()}
    assert set(TABLE.reasons) <= given


def test_every_rule_but_the_last_fits_a_gap():
    """A rule for names that are there by now is dead text."""
    gaps = [name for name, status in TABLE.all_names() if not status.is_done]
    first = {next(r for r in TABLE.missing_rules if fnmatchcase(gap, r)) for gap in gaps}
    assert set(TABLE.missing_rules) - first <= {"*"}


def test_the_file_is_what_sync_writes():
    """Nobody edits the generated part by hand."""
    text = TABLE_FILE.read_text(encoding="utf-8")
    assert rewrite(text, derive) == text, SYNC


def test_the_page_is_what_the_table_says(repository):
    """The documentation page is generated anew with every change of the table."""
    docs = repository / "docs"
    head = (docs / "flink-differences.head.md").read_text(encoding="utf-8")
    page = (docs / "flink-differences.md").read_text(encoding="utf-8")
    assert page == render_page(TABLE, head), "run `make docs`"
    assert all(f"### {title}\n" in page for title, _ in AREAS)


def test_gaps_take_the_first_rule_that_fits():
    """Rules go from the particular to the general, and the last fits everything."""
    status = status_of_gap(TABLE, "pyflink.common.typeinfo.Types.get_java_type_info")
    assert str(status) == "never: jvm"
    assert status_of_gap(TABLE, "pyflink.new.Thing").kind == "notyet"


@pytest.mark.parametrize("text", ["", "maybe", "done: jvm", "never", "never: because"])
def test_a_malformed_status_is_refused(text):
    """Every gap has one of the two kinds and a known reason."""
    with pytest.raises(ValueError, match="is not a status"):
        parse_status(text, {"jvm": "no JVM"})


def test_reading_back_what_was_written():
    """A table survives being written, exports and statuses included."""
    again = read_table(rewrite(TABLE_FILE.read_text(encoding="utf-8"), lambda table: table))
    assert again.classes == TABLE.classes
    assert again.functions == TABLE.functions


def test_statuses_are_shown_by_kind_and_reason():
    """What stands in the file is what is read from it."""
    assert str(Status("notyet", "windows", "no windows")) == "notyet: windows"
    assert str(Status("done")) == "done"
