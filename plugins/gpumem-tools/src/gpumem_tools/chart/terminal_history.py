"""A history as lines of a terminal: the holders stacked, under the device's total."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from rich.text import Text

from gpumem.plugin import human
from gpumem_tools.chart.history import History
from gpumem_tools.chart.palette import terminal_colour

ROWS: Final = 10
BLOCKS: Final = "█▓▒░"
LETTERS: Final = "#*+o=%"


def draw_history(history: History, width: int, *, ascii_only: bool, coloured: bool) -> list[Text]:
    """Return the lines, at most `width` columns wide.

    Where there is colour every holder is a full block in its own; else each has a fill or a letter of its own.
    """
    ceiling = history.ceiling()
    top = human(ceiling)
    margin = len(top) + 1
    columns = max(10, width - margin - 1)
    stacks = history.stacks(columns)
    wall = "|" if ascii_only else "│"
    lines = []
    for row in range(ROWS, 0, -1):
        # A cell is drawn if its middle is covered; what is held in the lowest is drawn however little it is.
        middle = (row - 0.5) * ceiling / ROWS
        label = top if row == ROWS else ""
        line = Text()
        line.append(f"{label:>{margin}}{wall}", style="dim")
        cells = [_cell(stack, middle, lowest=row == 1, ascii_only=ascii_only, coloured=coloured) for stack in stacks]
        for (sign, style), run in groupby(cells):
            line.append(sign * len(list(run)), style=style)
        line.rstrip()
        lines.append(line)
    lines.append(_floor(margin, columns, ascii_only))
    if history.refusals:
        lines.append(_refusals(history, margin, columns))
    end = f"{history.seconds:.1f} s"
    lines.append(Text(f"{'0':>{margin + 2}}{end:>{columns - 1}}", style="dim"))
    lines += _legend(history, margin, width, ascii_only=ascii_only, coloured=coloured)
    if ceiling < history.total:
        lines.append(Text(f"{'':>{margin}} the device's {human(history.total)} lie far above", style="dim"))
    return lines


def mark(number: int, *, ascii_only: bool, coloured: bool) -> str:
    """Return the character of a holder."""
    if ascii_only:
        return LETTERS[number % len(LETTERS)]
    return BLOCKS[0] if coloured else (BLOCKS + LETTERS)[number % len(BLOCKS + LETTERS)]


def _cell(stack: tuple[int, ...], middle: float, *, lowest: bool, ascii_only: bool, coloured: bool) -> tuple[str, str]:
    """Return the character of a cell and its style."""
    height = 0
    for number, held in enumerate(stack):
        height += held
        if height > middle:
            return mark(number, ascii_only=ascii_only, coloured=coloured), terminal_colour(number)
    if lowest and height:
        biggest = max(range(len(stack)), key=lambda number: stack[number])
        sign = mark(biggest, ascii_only=True, coloured=coloured) if ascii_only else "▁"
        return sign, terminal_colour(biggest)
    return " ", ""


def _floor(margin: int, columns: int, ascii_only: bool) -> Text:
    corner, line = ("+", "-") if ascii_only else ("└", "─")
    return Text(f"{'0':>{margin}}{corner}{line * columns}", style="dim")


def _refusals(history: History, margin: int, columns: int) -> Text:
    signs = [" "] * columns
    for column in history.refused_in(columns):
        signs[column] = "x"
    line = Text(" " * (margin + 1))
    line.append("".join(signs).rstrip(), style="bold red")
    return line


def _legend(history: History, margin: int, width: int, *, ascii_only: bool, coloured: bool) -> list[Text]:
    entries = [
        (
            mark(number, ascii_only=ascii_only, coloured=coloured),
            f"{one.label} {human(one.peak)}",
            terminal_colour(number),
        )
        for number, one in enumerate(history.series)
    ]
    if history.refusals:
        entries.append(("x", "refused", "bold red"))
    lines: list[Text] = []
    line = Text(" " * (margin + 1))
    for sign, text, style in entries:
        if len(line) > margin + 1 and len(line) + len(text) + 5 > width:
            lines.append(line)
            line = Text(" " * (margin + 1))
        line.append(sign, style=style)
        line.append(f" {text}   ")
    return [*lines, line]
