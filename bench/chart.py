"""Draws lines as SVG, by hand: two axes, linear or logarithmic, and a bound if there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

WIDTH, HEIGHT = 860, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 34, 44
_TICKS = 5
_COLOURS = ("#0969da", "#bf5700", "#1a7f37", "#8250df", "#57606a", "#cf222e")
_STYLE = (
    "text { font: 12px sans-serif; fill: #57606a } line { stroke: #d0d7de } "
    "polyline { fill: none; stroke-width: 1.5 } "
    ".bound { stroke: #cf222e; stroke-dasharray: 6 4 } .bound-name { fill: #cf222e }"
)

Points = Sequence[tuple[float, float]]


class Chart(NamedTuple):
    """What is drawn: named lines from left to right, and a bound that they keep to."""

    title: str
    across: str
    up: str
    lines: Mapping[str, Points]
    bound: tuple[float, str] | None = None
    logarithmic: bool = False


class _Axis(NamedTuple):
    """Where a value is, between 0 and 1, and which values are marked."""

    place: Callable[[float], float]
    ticks: Sequence[float]


def draw(chart: Chart) -> str:
    """Returns the picture."""
    points = [point for line in chart.lines.values() for point in line]
    heights = [y for _, y in points] + ([] if chart.bound is None else [chart.bound[0]])
    axis = _logarithmic if chart.logarithmic else _linear
    across, up = axis([x for x, _ in points], 1.0), axis(heights, 1.1)

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            round(_LEFT + across.place(x) * (WIDTH - _LEFT - _RIGHT), 1),
            round(HEIGHT - _BOTTOM - up.place(y) * (HEIGHT - _TOP - _BOTTOM), 1),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label={quoteattr(chart.title)}>',
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="20">{escape(chart.title)}</text>',
    ]
    for tick in up.ticks:
        _, y = place(across.ticks[0], tick)
        parts += [
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>',
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{_shown(tick)}</text>',
        ]
    for tick in across.ticks:
        x, bottom = place(tick, up.ticks[0])
        anchor = "end" if tick == across.ticks[-1] else "middle"  # there is no room beside it
        parts.append(
            f'<text x="{x}" y="{bottom + 18}" text-anchor="{anchor}">{_shown(tick)}</text>'
        )
    if chart.bound is not None:
        limit, name = chart.bound
        _, y = place(across.ticks[0], limit)
        parts += [
            f'<line class="bound" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>',
            f'<text class="bound-name" x="{_LEFT + 4}" y="{y - 6}">'  # a line begins below it
            f"{escape(name)}</text>",
        ]
    for number, (name, line) in enumerate(chart.lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{x},{y}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline stroke="{colour}" points="{path}"/>')
        if len(chart.lines) > 1:
            parts.append(
                f'<text x="{_LEFT + 8}" y="{_TOP + 12 + 15 * number}" style="fill: {colour}">'
                f"{escape(name)}</text>"
            )
    parts += [
        f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 8}" text-anchor="end">'
        f"{escape(chart.across)}</text>",
        f'<text x="{_LEFT - 8}" y="20" text-anchor="end">{escape(chart.up)}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _linear(values: Sequence[float], room: float) -> _Axis:
    """Returns an axis from 0 to somewhat above the largest, with round numbers at its lines."""
    most = max(values, default=1.0) * room or 1.0
    power = 10.0 ** math.floor(math.log10(most / _TICKS))
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= most / _TICKS)
    lines = math.ceil(most / step)
    return _Axis(lambda value: value / (lines * step), [step * n for n in range(lines + 1)])


def _logarithmic(values: Sequence[float], room: float) -> _Axis:
    low = math.floor(math.log10(min(values)))
    high = max(low + 1, math.ceil(math.log10(max(values) * room)))
    return _Axis(
        lambda value: (math.log10(value) - low) / (high - low),
        [10.0**power for power in range(low, high + 1)],
    )


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:g}"
