"""Draws the patterns of the pages in docs/how-to: `make pictures`.

The code of a page is run, and what it calls its pattern or its query draws itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parent.parent / "how-to"
PATTERNS = {
    "patterns.md": {"two-countries": "pattern"},
    "double-dip.md": {"double-dip": "double_dip", "double-dip-rows": "found"},
}
"""For each page the pictures, and the names of what they are of."""
_FENCE = re.compile(r"^```python run\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def names_of(page: Path) -> dict[str, Any]:
    """What there is when the code of a page has run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for code in _FENCE.findall(page.read_text(encoding="utf-8")):
        exec(compile(code, str(page), "exec"), names)
    return names


def drawing(thing: Any) -> Any:
    """Of a pattern, or of the one pattern of a query."""
    return thing.draw() if hasattr(thing, "draw") else thing.draw_patterns()[0]


def main(folder: Path) -> None:
    for page, pictures in PATTERNS.items():
        names = names_of(PAGES / page)
        for picture, name in pictures.items():
            drawing(names[name]).save(folder / f"{picture}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "patterns")
