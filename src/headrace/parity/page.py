"""The documentation page of differences, generated from the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headrace.parity.table import KINDS, ApiClass, ParityTable, Status

AREAS = (
    ("Common", "pyflink.common"),
    ("Connectors", "pyflink.datastream.connectors"),
    ("Formats", "pyflink.datastream.formats"),
    ("Windows", "pyflink.datastream.window"),
    ("DataStream", "pyflink.datastream"),
    ("Table API and SQL", "pyflink.table"),
)
"""Title and module of each part of the page; a name belongs to the first that holds it."""


def render_page(table: ParityTable, head: str) -> str:
    """The whole page: the part written by hand, then what the table says."""
    parts = [head.rstrip(), "", "## Names that are not there", "", _totals(table), ""]
    for title, root in AREAS:
        parts += _area(table, title, root)
    return "\n".join(parts).rstrip() + "\n"


def _totals(table: ParityTable) -> str:
    kinds = [status.kind for _, status in table.all_names()]
    return (
        f"Of {len(kinds)} public classes, methods and functions of PyFlink 2.3, "
        f"{kinds.count('done')} are there, {kinds.count('notyet')} are not there yet, and "
        f"{kinds.count('never')} will never be, for the reasons given. This part of the page is "
        "generated from the parity table by `python -m headrace.parity --docs`."
    )


def _area(table: ParityTable, title: str, root: str) -> Iterator[str]:
    classes = [c for c in table.classes if _area_root(c.module) == root]
    done = sum(known.status.is_done for known in classes)
    yield from (f"### {title}", "", f"{done} of {len(classes)} classes are there.", "")
    gaps = [gap for known in classes for gap in _class_gaps(known)]
    for module, functions in table.functions.items():
        if _area_root(module) == root:
            gaps += _member_gaps(module, "functions", functions)
    if gaps:
        yield from ("| module | name | missing | status | why |", "|---|---|---|---|---|")
        yield from (*_rows(gaps), "")


Gap = tuple[str, str, str, Status]
"""Module, name, what is missing of it, and its status."""


def _class_gaps(known: ApiClass) -> Iterator[Gap]:
    if known.status.is_done:
        yield from _member_gaps(known.module, f"`{known.name}`", known.methods)
    else:
        yield known.module, f"`{known.name}`", "all", known.status


def _member_gaps(module: str, name: str, members: Mapping[str, Status]) -> Iterator[Gap]:
    by_status: dict[Status, list[str]] = {}
    for member, status in members.items():
        if not status.is_done:
            by_status.setdefault(status, []).append(f"`{member}`")
    for status, missing in by_status.items():
        yield module, name, ", ".join(missing), status


def _rows(gaps: list[Gap]) -> Iterator[str]:
    """One row for all names of a module that miss the same for the same reason."""
    rows: dict[tuple[str, str, Status], list[str]] = {}
    for module, name, missing, status in gaps:
        rows.setdefault((module, missing, status), []).append(name)
    for (module, missing, status), names in rows.items():
        listed = ", ".join(names)
        shown = f"`{module.removeprefix('pyflink.')}`"
        yield f"| {shown} | {listed} | {missing} | {KINDS[status.kind]} | {status.reason} |"


def _area_root(module: str) -> str:
    for _, root in AREAS:
        if module == root or module.startswith(f"{root}."):
            return root
    raise ValueError(f"{module} belongs to no area of the page of differences")
