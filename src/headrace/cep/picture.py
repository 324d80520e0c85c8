"""Boxes in a row and the arrows between them: where they lie, and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

Node = tuple[str, str, str]
"""Name, title and kind."""
Point = tuple[float, float]

INK, GREY, LINE = "#111827", "#4b5563", "#6b7280"
ROUND = 18
_STEP, _WIDTH, _HEIGHT = 240, 110, 40
_LANE = 26
_COLOURS = {"start": "#dbeafe", "final": "#dcfce7", "stop": "#fee2e2", "pending": "#fef9c3",
            "normal": "#f3f4f6"}  # fmt: skip
_STYLE = (
    f"text{{font:12px sans-serif;text-anchor:middle;fill:{INK}}}"
    f".label{{font-size:10px;fill:{GREY}}}"
    f"path{{fill:none;stroke:{LINE};marker-end:url(#head)}}"
    f"rect{{stroke:{LINE}}}"
)
_HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    f'orient="auto"><polygon points="0,0 8,4 0,8" fill="{LINE}"/></marker>'
)


@dataclass(frozen=True, slots=True)
class Box:
    """A state; `x` and `y` are its upper left corner."""

    x: float
    y: float
    title: str
    colour: str
    width: float = _WIDTH
    height: float = _HEIGHT


@dataclass(frozen=True, slots=True)
class Arrow:
    """A straight line between two points, or a curve that two more points bend."""

    points: tuple[Point, ...]
    label: str
    label_at: Point


@dataclass(frozen=True, slots=True)
class Picture:
    """All shapes, in pixels from the upper left corner."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    note: str


def laid_out(nodes: Sequence[Node], arrows: Mapping[tuple[str, str], str], note: str) -> Picture:
    """Nodes from left to right, and labelled arrows between them."""
    place = {name: at for at, (name, _, _) in enumerate(nodes)}
    above, below = _room(place, arrows)
    middle = above + _HEIGHT / 2
    boxes = tuple(
        Box(_centre(at) - _WIDTH / 2, middle - _HEIGHT / 2, title, _COLOURS[kind])
        for at, (_, title, kind) in enumerate(nodes)
    )
    drawn = tuple(_arrow(place[source], place[target], middle, label)
                  for (source, target), label in arrows.items())  # fmt: skip
    return Picture(_STEP * len(nodes) + 20, above + _HEIGHT + below, boxes, drawn, note)


def _room(place: Mapping[str, int], arrows: Mapping[tuple[str, str], str]) -> tuple[float, float]:
    """How high the arrows reach above and below the boxes."""
    jumps = [place[target] - place[source] for source, target in arrows]
    forward = max((jump for jump in jumps if jump > 1), default=1)
    back = max((-jump for jump in jumps if jump < 0), default=0)
    return 60 + _LANE * forward, 30 + _LANE * (back + 1 if back else 0)


def _centre(at: int) -> float:
    return 10 + _STEP * (at + 0.5)


def _arrow(one: int, other: int, middle: float, label: str) -> Arrow:
    start, end = _centre(one), _centre(other)
    top, bottom = middle - _HEIGHT / 2, middle + _HEIGHT / 2
    if one == other:
        high = top - 30
        loop = ((start - 18, top), (start - 30, high), (start + 30, high), (start + 18, top))
        return Arrow(loop, label, (start, high + 4))
    if other == one + 1:
        line = ((start + _WIDTH / 2, middle), (end - _WIDTH / 2, middle))
        return Arrow(line, label, ((start + end) / 2, middle - 6))
    edge, way = (top, -1) if other > one else (bottom, 1)
    reach = edge + way * (_LANE * abs(other - one) + 20)
    curve = ((start, edge), (start, reach), (end, reach), (end, edge))
    return Arrow(curve, label, ((start + end) / 2, edge + way * 0.75 * abs(reach - edge) - 4))


def svg_of(picture: Picture) -> str:
    """The text of an SVG file."""
    width, height = picture.width, f"{picture.height:.0f}"
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}>',
        f"<style>{_STYLE}</style><defs>{_HEAD}</defs>",
        *map(_box, picture.boxes),
        *(line for arrow in picture.arrows for line in _arrow_lines(arrow)),
    ]
    if picture.note:
        note = escape(picture.note)
        parts.append(f'<text x="{width / 2}" y="{picture.height - 6:.0f}">{note}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _box(box: Box) -> str:
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="{ROUND}" '
        f'fill="{box.colour}"/>'
        f'<text x="{box.x + box.width / 2}" y="{box.y + box.height / 2 + 4}">'
        f"{escape(box.title)}</text>"
    )


def _arrow_lines(arrow: Arrow) -> Iterator[str]:
    first, *others = (f"{x},{y}" for x, y in arrow.points)
    x, y = arrow.label_at
    yield f'<path d="M{first} {"C" if len(others) > 1 else "L"}{" ".join(others)}"/>'
    yield f'<text class="label" x="{x:.0f}" y="{y:.0f}">{escape(arrow.label)}</text>'
