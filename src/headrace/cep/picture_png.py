"""A picture as PNG, drawn by matplotlib, which headrace does not ask for by itself."""

from __future__ import annotations

import importlib.util
from io import BytesIO
from typing import Any

from headrace.cep.picture import GREY, INK, LINE, ROUND, Arrow, Box, Picture
from headrace.errors import Unsupported
from headrace.origin import calling_origin

_DOTS_PER_INCH = 96
_POINTS = 72 / _DOTS_PER_INCH
"""Of a pixel, when nothing is enlarged."""


def png_of(picture: Picture, scale: float) -> bytes:
    """The bytes of a PNG file, `scale` times as large as the SVG."""
    if importlib.util.find_spec("matplotlib") is None:
        raise Unsupported(
            "a PNG is drawn by the package matplotlib, which is not installed",
            origin=calling_origin(),
            hint="Run `pip install 'headrace[pictures]'`, or take svg(), which needs nothing.",
        )
    # Not pyplot: that would keep the figure, and choose a window system.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (picture.width / _DOTS_PER_INCH, picture.height / _DOTS_PER_INCH)
    figure = Figure(figsize=size, dpi=_DOTS_PER_INCH * scale)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    axes.axis("off")
    for box in picture.boxes:
        _draw_box(axes, box)
    for arrow in picture.arrows:
        _draw_arrow(axes, arrow)
    if picture.note:
        _write(axes, (picture.width / 2, picture.height - 6), picture.note, INK, 12)
    made = BytesIO()
    figure.savefig(made, format="png", metadata={"Software": None})
    return made.getvalue()


def _draw_box(axes: Any, box: Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={ROUND}"
    axes.add_patch(
        FancyBboxPatch((box.x, box.y), box.width, box.height, boxstyle=style, facecolor=box.colour,
                       edgecolor=LINE, linewidth=_POINTS)
    )  # fmt: skip
    middle = (box.x + box.width / 2, box.y + box.height / 2 + 4)
    _write(axes, middle, box.title, INK, 12)


def _draw_arrow(axes: Any, arrow: Arrow) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    move, line, curve = Path.MOVETO, Path.LINETO, Path.CURVE4
    codes = [move, line] if len(arrow.points) == 2 else [move, curve, curve, curve]
    axes.add_patch(
        FancyArrowPatch(path=Path(arrow.points, codes), arrowstyle="-|>", mutation_scale=7,
                        color=LINE, linewidth=_POINTS)
    )  # fmt: skip
    _write(axes, arrow.label_at, arrow.label, GREY, 10)


def _write(axes: Any, at: tuple[float, float], text: str, colour: str, pixels: int) -> None:
    # What looks like a formula is text, too.
    axes.text(*at, text, color=colour, fontsize=pixels * _POINTS, ha="center", va="baseline",
              parse_math=False)  # fmt: skip
