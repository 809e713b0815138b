"""Spans as lines of a terminal: one line a holder, its bar where its memory lies."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from gpumem.plugin import human
from gpumem_tools.chart.palette import terminal_colour
from gpumem_tools.chart.spans import Span, cells


def draw_spans(spans: Sequence[Span], total: int, width: int, *, ascii_only: bool) -> Table:
    """Return the lines, at most `width` columns wide.

    The bar is full where the holder uses its memory, and light where it only keeps it from others.
    """
    label = max((len(span.label) for span in spans), default=0)
    bar = max(20, min(48, (width - label - 6) // 2))
    grid = Table.grid(padding=(0, 2), pad_edge=False)
    grid.add_column(width=label, no_wrap=True)
    grid.add_column(width=bar, no_wrap=True)
    grid.add_column(overflow="fold")
    end = human(total)
    grid.add_row("", Text(f"0{end.rjust(bar - 1)}", style="dim"), "")
    for span in spans:
        note = Text(span.note, style="bold red" if span.alarming else "")
        grid.add_row(span.label, _bar(span, total, bar, ascii_only=ascii_only), note)
    return grid


def _bar(span: Span, total: int, width: int, *, ascii_only: bool) -> Text:
    used, idle, ground = ("#", "-", ".") if ascii_only else ("█", "░", "·")
    start = min(cells(span.start, total, width), width - 1)
    middle = max(start, cells(span.start + span.used, total, width))
    end = max(middle, cells(span.start + span.used + span.idle, total, width))
    if span.used + span.idle and end == start:
        # What is held is worth a mark, however little it is.
        middle = end = start + 1
    colour = terminal_colour(span.number)
    text = Text()
    text.append(ground * start, style="dim")
    text.append(used * (middle - start), style=colour)
    text.append(idle * (end - middle), style=colour)
    text.append(ground * (width - end), style="dim")
    return text
