"""Boxes in a row and the arrows between them, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

Node = tuple[str, str, str]
"""Name, title and kind."""

_STEP, _WIDTH, _HEIGHT = 240, 110, 40
_LANE = 26
_COLOURS = {"start": "#dbeafe", "final": "#dcfce7", "stop": "#fee2e2", "pending": "#fef9c3",
            "normal": "#f3f4f6"}  # fmt: skip
_STYLE = (
    "text{font:12px sans-serif;text-anchor:middle;fill:#111827}"
    ".label{font-size:10px;fill:#4b5563}"
    "path{fill:none;stroke:#6b7280;marker-end:url(#head)}"
    "rect{stroke:#6b7280}"
)
_HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><polygon points="0,0 8,4 0,8" fill="#6b7280"/></marker>'
)


def svg_of(nodes: Sequence[Node], arrows: Mapping[tuple[str, str], str], note: str) -> str:
    """A picture of nodes from left to right, and labelled arrows between them."""
    place = {name: at for at, (name, _, _) in enumerate(nodes)}
    above, below = _room(place, arrows)
    middle = above + _HEIGHT / 2
    width, height = _STEP * len(nodes) + 20, above + _HEIGHT + below
    size = f'width="{width}" height="{height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" {size}>',
        f"<style>{_STYLE}</style><defs>{_HEAD}</defs>",
        *(_box(place[name], title, kind, middle) for name, title, kind in nodes),
        *_arrows(place, arrows, middle),
    ]
    if note:
        parts.append(f'<text x="{width / 2}" y="{height - 6:.0f}">{escape(note)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _room(place: Mapping[str, int], arrows: Mapping[tuple[str, str], str]) -> tuple[float, float]:
    """How high the arrows reach above and below the boxes."""
    jumps = [place[target] - place[source] for source, target in arrows]
    forward = max((jump for jump in jumps if jump > 1), default=1)
    back = max((-jump for jump in jumps if jump < 0), default=0)
    return 60 + _LANE * forward, 30 + _LANE * (back + 1 if back else 0)


def _centre(at: int) -> float:
    return 10 + _STEP * (at + 0.5)


def _box(at: int, title: str, kind: str, middle: float) -> str:
    x = _centre(at) - _WIDTH / 2
    return (
        f'<rect x="{x}" y="{middle - _HEIGHT / 2}" width="{_WIDTH}" height="{_HEIGHT}" rx="18" '
        f'fill="{_COLOURS[kind]}"/>'
        f'<text x="{_centre(at)}" y="{middle + 4}">{escape(title)}</text>'
    )


def _arrows(
    place: Mapping[str, int], arrows: Mapping[tuple[str, str], str], middle: float
) -> Iterator[str]:
    for (source, target), label in arrows.items():
        one, other = place[source], place[target]
        path, x, y = _path(one, other, middle)
        yield f'<path d="{path}"/>'
        yield f'<text class="label" x="{x:.0f}" y="{y:.0f}">{escape(label)}</text>'


def _path(one: int, other: int, middle: float) -> tuple[str, float, float]:
    """The line of an arrow, and where its label goes."""
    start, end = _centre(one), _centre(other)
    top, bottom = middle - _HEIGHT / 2, middle + _HEIGHT / 2
    if one == other:
        high = top - 30
        line = f"M{start - 18},{top} C{start - 30},{high} {start + 30},{high} {start + 18},{top}"
        return line, start, high + 4
    if other == one + 1:
        line = f"M{start + _WIDTH / 2},{middle} L{end - _WIDTH / 2},{middle}"
        return line, (start + end) / 2, middle - 6
    edge, way = (top, -1) if other > one else (bottom, 1)
    reach = edge + way * (_LANE * abs(other - one) + 20)
    line = f"M{start},{edge} C{start},{reach} {end},{reach} {end},{edge}"
    return line, (start + end) / 2, edge + way * 0.75 * abs(reach - edge) - 4
