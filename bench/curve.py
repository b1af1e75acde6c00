"""Draws a curve as SVG, by hand: one line, one bound, two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 860, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 34, 44
_TICKS = 5
_STYLE = (
    "text { font: 12px sans-serif; fill: #57606a } line { stroke: #d0d7de } "
    ".line { fill: none; stroke: #0969da; stroke-width: 1.5 } "
    ".bound { stroke: #cf222e; stroke-dasharray: 6 4 } .bound-name { fill: #cf222e }"
)


class Curve(NamedTuple):
    """What is drawn: points from left to right, and a bound that they keep to."""

    title: str
    across: str
    up: str
    points: Sequence[tuple[float, float]]
    bound: float
    bound_name: str


def draw(curve: Curve) -> str:
    """Returns the picture."""
    most_x = max(x for x, _ in curve.points)
    most_y = max(curve.bound, *(y for _, y in curve.points)) * 1.1

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + x / most_x * (WIDTH - _LEFT - _RIGHT)
        return round(across, 1), round(HEIGHT - _BOTTOM - y / most_y * (HEIGHT - _TOP - _BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{curve.title}">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="20">{curve.title}</text>',
    ]
    for tick in range(_TICKS + 1):
        x, bottom = place(most_x * tick / _TICKS, 0)
        _, y = place(0, most_y * tick / _TICKS)
        parts += [
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>',
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">'
            f"{most_y * tick / _TICKS:.1f}</text>",
            f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">'
            f"{most_x * tick / _TICKS:,.0f}</text>",
        ]
    _, y = place(0, curve.bound)
    path = " ".join(f"{x},{y}" for x, y in (place(*point) for point in curve.points))
    parts += [
        f'<line class="bound" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>',
        f'<text class="bound-name" x="{_LEFT + 4}" y="{y - 6}">'  # a curve begins below it
        f"{curve.bound_name}</text>",
        f'<polyline class="line" points="{path}"/>',
        f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{curve.across}</text>',
        f'<text x="{_LEFT - 8}" y="20" text-anchor="end">{curve.up}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
