"""Keep the parity table and its documentation page up to date.

python -m headrace.parity                 what the table says, in one line per status
python -m headrace.parity --sync          rewrite the table from what headrace has
python -m headrace.parity --names FILE    the same, taking PyFlink's names from a listing
python -m headrace.parity --docs [FOLDER] write flink-differences.md beside its hand-written head
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from headrace.parity.page import render_page
from headrace.parity.sync import derive, near_misses, rewrite, with_names_of
from headrace.parity.table import TABLE_FILE, ParityTable, read_table

PAGE = "flink-differences.md"
HEAD = "flink-differences.head.md"


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for, then print the totals."""
    parser = argparse.ArgumentParser(prog="python -m headrace.parity", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--names", type=Path, metavar="FILE")
    parser.add_argument("--docs", type=Path, metavar="FOLDER", nargs="?", const=Path("docs"))
    asked = parser.parse_args(arguments)
    if asked.sync or asked.names:
        _sync(asked.names)
    table = read_table(TABLE_FILE.read_text(encoding="utf-8"))
    if asked.docs:
        head = (asked.docs / HEAD).read_text(encoding="utf-8")
        (asked.docs / PAGE).write_text(render_page(table, head), encoding="utf-8")
        print(f"wrote {asked.docs / PAGE}")
    counts = Counter(status.kind for _, status in table.all_names())
    print(", ".join(f"{kind}: {count}" for kind, count in counts.items()))


def _sync(names: Path | None) -> None:
    def update(table: ParityTable) -> ParityTable:
        return derive(with_names_of(table, names) if names else table)

    TABLE_FILE.write_text(rewrite(TABLE_FILE.read_text(encoding="utf-8"), update), encoding="utf-8")
    for line in near_misses(read_table(TABLE_FILE.read_text(encoding="utf-8"))):
        print(line)
    print(f"wrote {TABLE_FILE}")


if __name__ == "__main__":
    main()
