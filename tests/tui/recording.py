"""A short screen recording: pictures of the picker one after the other, in one SVG that moves.

Made of the pictures in docs/pictures alone, by CSS that every browser plays; nothing is fetched.
Who wants no motion sees the last picture.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_CAPTION = 40.0
_HEAD = re.compile(r'<svg class="rich-terminal" viewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture, what is pressed to get there, and for how many seconds it is shown."""

    svg: str
    caption: str
    seconds: float


def film(frames: Sequence[Frame]) -> str:
    """Returns the frames as one SVG, which begins again after the last."""
    sizes = [_size(frame.svg) for frame in frames]
    width, height = max(w for w, _ in sizes), max(h for _, h in sizes)
    whole = sum(frame.seconds for frame in frames)
    begin, rules, pictures = 0.0, [], []
    for number, frame in enumerate(frames):
        end = begin + frame.seconds
        rules.append(_keyframes(number, begin / whole * 100, end / whole * 100))
        rules.append(f".shot{number} {{ animation-name: shot{number}; }}")
        pictures.append(_picture(frame, number, height))
        begin = end
    last = len(frames) - 1
    return "\n".join(
        [
            f'<svg viewBox="0 0 {width:g} {height + _CAPTION:g}"'
            ' xmlns="http://www.w3.org/2000/svg">',
            "<style>",
            f".shot {{ visibility: hidden; animation: {whole:g}s step-end infinite; }}",
            *rules,
            "@media (prefers-reduced-motion: reduce) {",
            f"  .shot {{ animation: none; }} .shot{last} {{ visibility: visible; }}",
            "}",
            ".caption { font: bold 20px sans-serif; fill: #57a5e2; text-anchor: middle; }",
            "</style>",
            *pictures,
            "</svg>",
            "",
        ]
    )


def _size(svg: str) -> tuple[float, float]:
    found = _HEAD.search(svg)
    assert found is not None, "this is no picture of a terminal"
    return float(found[1]), float(found[2])


def _keyframes(number: int, begin: float, end: float) -> str:
    stops = [f"{begin:.2f}% {{ visibility: visible; }}"]
    if begin > 0:
        stops.insert(0, "0% { visibility: hidden; }")
    if end < 100:
        stops.append(f"{end:.2f}% {{ visibility: hidden; }}")
    return f"@keyframes shot{number} {{ {' '.join(stops)} }}"


def _picture(frame: Frame, number: int, height: float) -> str:
    """Returns one frame; the names of its own styles are told from those of the others."""
    width, tall = _size(frame.svg)
    inner = frame.svg.replace("terminal-", f"shot{number}-")
    size = f'width="{width:g}" height="{tall:g}" viewBox="0 0 {width:g} {tall:g}"'
    head = f'<svg class="rich-terminal" {size}>'
    inner = _HEAD.sub(head, inner, count=1)
    caption = f'<text class="caption" x="{width / 2:g}" y="{height + 28:g}">{frame.caption}</text>'
    return f'<g class="shot shot{number}">\n{inner}\n{caption}\n</g>'
