"""Spans as SVG for a page; colours come from the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from gpumem.plugin import human
from gpumem_tools.chart.palette import css_class
from gpumem_tools.chart.spans import Span, scale

WIDTH: Final = 860
LEFT: Final = 150
RIGHT: Final = 20
ROW: Final = 46
TOP: Final = 28
BAR: Final = 18
CHARACTER: Final = 7.5
"""How wide a character of a note is at most, on average."""


def svg_spans(spans: Sequence[Span], total: int, title: str) -> str:
    """Return the picture. Each holder has a line: its name, its bar, and under the bar what is to be said of it."""
    height = TOP + ROW * len(spans) + 8
    told = "; ".join(f"{span.label}: {span.note}" for span in spans)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(f"{title}. {told}")}">',
        *(_mark(amount, total, height) for amount in scale(total)),
        *(_row(number, span, total) for number, span in enumerate(spans)),
        "</svg>",
    ]
    return "\n".join(parts)


def _x(amount: int, total: int) -> float:
    return LEFT + min(1.0, amount / total) * (WIDTH - LEFT - RIGHT)


def _mark(amount: int, total: int, height: int) -> str:
    x = _x(amount, total)
    text = human(amount) if amount else "0"
    anchor = "start" if amount == 0 else "end" if amount == total else "middle"
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - 4}"/>'
        f'<text class="scale" x="{x:.1f}" y="{TOP - 12}" text-anchor="{anchor}">{text}</text>'
    )


def _row(number: int, span: Span, total: int) -> str:
    y = TOP + ROW * number
    start, middle, end = (
        _x(amount, total) for amount in (span.start, span.start + span.used, span.start + span.used + span.idle)
    )
    used = max(middle - start, 2.0 if span.used else 0.0)
    idle = max(0.0, end - start - used)
    start = min(start, WIDTH - RIGHT - used)
    # A note begins at its bar, unless it would leave the picture there.
    leaves = start + len(span.note) * CHARACTER > WIDTH - RIGHT
    x, anchor = (WIDTH - RIGHT, "end") if leaves else (start, "start")
    note = "note alarm" if span.alarming else "note"
    return (
        f'<g class="{css_class(span.number)}">'
        f'<text class="label" x="{LEFT - 12}" y="{y + 14}" text-anchor="end">{escape(span.label)}</text>'
        f'<rect class="ground" x="{start:.1f}" y="{y}" width="{used + idle:.1f}" height="{BAR}"/>'
        f'<rect class="used" x="{start:.1f}" y="{y}" width="{used:.1f}" height="{BAR}"/>'
        f'<rect class="idle" x="{start + used:.1f}" y="{y}" width="{idle:.1f}" height="{BAR}"/>'
        f'<text class="{note}" x="{x:.1f}" y="{y + BAR + 14}" text-anchor="{anchor}">{escape(span.note)}</text>'
        "</g>"
    )
