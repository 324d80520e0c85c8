"""Drawing along a line of time, as SVG text that is the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

INK, GREY, PALE = "#24292f", "#8c959f", "#d8dee4"
BLUE, GREEN, ORANGE, RED = "#0969da", "#1a7f37", "#bc4c00", "#cf222e"
LEFT, RIGHT, WIDTH = 150, 20, 760


class Picture:
    """Shapes placed by a value on the horizontal axis and a height in pixels."""

    def __init__(self, first: float, last: float, height: int):
        self.first, self.last, self.height = first, last, height
        self._shapes: list[str] = []

    def x(self, value: float) -> float:
        """Where a value lies, in pixels."""
        share = (value - self.first) / (self.last - self.first)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def line(self, start: tuple[float, float], end: tuple[float, float], color: str = GREY,
             dashes: str = "", width: float = 1.5) -> None:  # fmt: skip
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._shapes.append(
            f'<line x1="{self.x(start[0])}" y1="{start[1]}" x2="{self.x(end[0])}" y2="{end[1]}" '
            f'stroke="{color}" stroke-width="{width}"{dashed}/>'
        )

    def dot(self, value: float, y: float, color: str = INK) -> None:
        self._shapes.append(f'<circle cx="{self.x(value)}" cy="{y}" r="5" fill="{color}"/>')

    def diamond(self, value: float, y: float, color: str = GREEN) -> None:
        x = self.x(value)
        points = f"{x},{y - 7} {x + 7},{y} {x},{y + 7} {x - 7},{y}"
        self._shapes.append(f'<polygon points="{points}" fill="{color}"/>')

    def box(self, start: float, end: float, y: float, height: float, color: str = BLUE) -> None:
        left, right = self.x(start) + 1, self.x(end) - 1
        self._shapes.append(
            f'<rect x="{left:.1f}" y="{y}" width="{right - left:.1f}" height="{height}" rx="5" '
            f'fill="{color}" fill-opacity="0.15" stroke="{color}"/>'
        )

    def text(self, value: float, y: float, text: object, color: str = INK,
             anchor: str = "middle") -> None:  # fmt: skip
        self._write(self.x(value), y, text, color, anchor)

    def label(self, y: float, text: object, color: str = INK) -> None:
        """A word for a lane, left of it."""
        self._write(LEFT - 14, y, text, color, "end")

    def _write(self, x: float, y: float, text: object, color: str, anchor: str) -> None:
        self._shapes.append(
            f'<text x="{x}" y="{y}" fill="{color}" text-anchor="{anchor}">'
            f"{escape(str(text))}</text>"
        )

    def axis(self, y: float, marks: Iterable[float], name: str) -> None:
        """A line of values, each mark with its number."""
        self.line((self.first, y), (self.last, y), INK)
        for mark in marks:
            self.line((mark, y - 4), (mark, y + 4), INK)
            self.text(mark, y + 18, f"{mark:g}")
        self.label(y + 4, name, GREY)

    def save(self, path: Path) -> None:
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'width="{WIDTH}" height="{self.height}" font-family="Helvetica, Arial, sans-serif" '
            f'font-size="13">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
            + "\n".join(self._shapes)
            + "\n</svg>\n",
            encoding="utf-8",
        )
