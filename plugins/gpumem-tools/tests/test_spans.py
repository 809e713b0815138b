"""Who holds which part of the card, in a terminal and on a page."""

from __future__ import annotations

import io
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from gpumem_tools.chart.spans import Span, scale
from gpumem_tools.chart.svg_spans import svg_spans
from gpumem_tools.chart.terminal_spans import draw_spans

MIB, GIB = 1 << 20, 1 << 30
SPANS = (
    Span("Alpha", 0, 3 * GIB, 9 * GIB, 0, "has its 3 GiB, but took 12 GiB at once"),
    Span("Beta, process 2", 12 * GIB, 4 * GIB - MIB, 0, 1, "starved: got 3.99 GiB of 6 GiB (OddError)", alarming=True),
    Span("Gamma", 16 * GIB - MIB, MIB, 0, 2, "starved"),
)


def drawn(width: int, *, ascii_only: bool) -> list[str]:
    """Return the lines of a console of this width."""
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    console.print(draw_spans(SPANS, 16 * GIB, width, ascii_only=ascii_only))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 110])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_every_holder_has_a_line_within_the_width(width: int, ascii_only: bool) -> None:
    """Names, bars and notes fit, and whoever holds anything has a mark, however little it is."""
    lines = drawn(width, ascii_only=ascii_only)
    assert max(map(len, lines)) <= width
    full = "#" if ascii_only else "█"
    for span in SPANS:
        (line,) = [line for line in lines if line.startswith(span.label)]
        assert full in line
    assert ascii_only is "".join(lines).isascii()


def test_a_bar_lies_where_its_memory_lies() -> None:
    """The first bar begins at the left, is full for a quarter of what it holds, and ends before the second begins."""
    alpha, beta = (next(line for line in drawn(110, ascii_only=True) if line.startswith(name)) for name in ("Al", "Be"))
    bar = slice(17, 17 + 44)
    assert (alpha[bar].count("#"), alpha[bar].count("-")) == (8, 25)
    assert beta[bar].index("#") == alpha[bar].rindex("-") + 1


def test_the_svg_is_well_formed_and_tells_every_note() -> None:
    """The label of the picture holds each name with what became of it."""
    root = ET.fromstring(svg_spans(SPANS, 16 * GIB, "One & all"))
    label = root.get("aria-label") or ""
    assert label.startswith("One & all.")
    assert all(f"{span.label}: {span.note}" in label for span in SPANS)


@pytest.mark.parametrize(
    ("total", "marks"),
    [(16 * GIB, [0, 4, 8, 12, 16]), (15 * GIB, [0, 3, 6, 9, 12, 15]), (80 * GIB, [0, 20, 40, 60, 80])],
)
def test_a_scale_has_round_marks(total: int, marks: list[int]) -> None:
    """The scale is cut into even parts that people read easily."""
    assert [amount // GIB for amount in scale(total)] == marks


def test_a_total_that_cannot_be_cut_evenly_has_its_ends() -> None:
    """A card of an odd size is marked at 0 and at its end."""
    assert scale(15633219584) == (0, 15633219584)
