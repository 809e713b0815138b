"""A history as SVG for a page: the holders stacked, under the device's total."""

from __future__ import annotations

from html import escape
from typing import Final

from gpumem.plugin import human
from gpumem_tools.chart.history import History
from gpumem_tools.chart.palette import css_class
from gpumem_tools.chart.spans import scale

WIDTH: Final = 860
HEIGHT: Final = 300
LEFT: Final = 78
RIGHT: Final = 16
TOP: Final = 26
BOTTOM: Final = 34
COLUMNS: Final = 600
"""How finely time is cut: finer than a screen shows, and a page stays small however long the log is."""


def svg_history(history: History, title: str) -> str:
    """Return the picture."""
    ceiling = history.ceiling()
    told = ", ".join(f"{one.label} at most {human(one.peak)}" for one in history.series)
    count = len(history.refusals)
    refused = f"; {count} request{'s' if count > 1 else ''} refused" if count else ""
    label = f"{title}: memory held over {history.seconds:.1f} seconds, of {human(history.total)}. {told}{refused}."
    stacks = history.stacks(COLUMNS)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">']
    parts += [_mark(amount, ceiling) for amount in scale(ceiling)]
    below = [0] * COLUMNS
    for number, one in enumerate(history.series):
        above = [low + stack[number] for low, stack in zip(below, stacks, strict=True)]
        parts.append(_area(one.label, number, below, above, ceiling))
        below = above
    if ceiling == history.total:
        parts.append(f'<line class="total" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{TOP}" y2="{TOP}"/>')
    for column in history.refused_in(COLUMNS):
        x = LEFT + (column + 0.5) / COLUMNS * (WIDTH - LEFT - RIGHT)
        parts.append(
            f'<path class="refusal" d="M{x:.1f} {TOP - 4}l-5 -9h10z"><title>a request was refused here</title></path>'
        )
    parts += [
        f'<text class="scale" x="{LEFT}" y="{HEIGHT - 12}">0 s</text>',
        f'<text class="scale" x="{WIDTH - RIGHT}" y="{HEIGHT - 12}" text-anchor="end">{history.seconds:.1f} s</text>',
        "</svg>",
    ]
    return "\n".join(parts)


def legend(history: History) -> str:
    """Return the list of the holders with their colours."""
    entries = "".join(
        f'<li class="{css_class(number)}"><i></i>{escape(one.label)}, at most {human(one.peak)}</li>'
        for number, one in enumerate(history.series)
    )
    return f'<ul class="legend">{entries}</ul>'


def _y(amount: float, ceiling: int) -> float:
    return HEIGHT - BOTTOM - min(1.0, amount / ceiling) * (HEIGHT - TOP - BOTTOM)


def _mark(amount: int, ceiling: int) -> str:
    y = _y(amount, ceiling)
    text = human(amount) if amount else "0"
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="scale" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    )


def _area(label: str, number: int, below: list[int], above: list[int], ceiling: int) -> str:
    if not any(high > low for low, high in zip(below, above, strict=True)):
        return ""
    step = (WIDTH - LEFT - RIGHT) / COLUMNS
    upper = _edge(above, step, ceiling)
    lower = _edge(below, step, ceiling)[::-1]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*upper, *lower))
    return f'<polygon class="area {css_class(number)}" points="{path}"><title>{escape(label)}</title></polygon>'


def _edge(amounts: list[int], step: float, ceiling: int) -> list[tuple[float, float]]:
    """Return the corners of an edge; columns of one height are one line."""
    corners: list[tuple[float, float]] = []
    for column, amount in enumerate(amounts):
        if column and amount == amounts[column - 1]:
            continue
        x, y = LEFT + column * step, _y(amount, ceiling)
        if corners:
            corners.append((x, corners[-1][1]))
        corners.append((x, y))
    corners.append((LEFT + len(amounts) * step, corners[-1][1]))
    return corners
