"""Memory over time: no peak is lost, nothing is invented, and every picture is readable where it is shown."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumem_tools.chart.history import History, Series, rounded_up
from gpumem_tools.chart.svg_history import legend, svg_history
from gpumem_tools.chart.terminal_history import draw_history

MIB, GIB = 1 << 20, 1 << 30
TWO = History(
    16 * GIB,
    10.0,
    (
        Series("alpha", ((0.0, 0), (1.0, 4 * GIB), (5.0, 0))),
        Series("beta", ((0.0, 0), (4.0, 2 * GIB), (4.001, 12 * GIB), (4.002, 2 * GIB))),
    ),
    refusals=(4.001, 9.99),
)


def changes(most: int) -> st.SearchStrategy[tuple[tuple[float, int], ...]]:
    """Return strategies for the points of a series that holds at most so much."""
    point = st.tuples(st.floats(0, 10), st.integers(0, most))
    return st.lists(point, max_size=12).map(lambda points: ((0.0, 0), *sorted(points, key=lambda one: one[0])))


def test_a_short_peak_is_seen_in_its_column():
    """A millisecond of 12 GiB among ten seconds is what its column shows."""
    assert max(stack[1] for stack in TWO.stacks(20)) == 12 * GIB


@given(changes(8 * GIB), changes(8 * GIB), st.integers(1, 90))
def test_a_column_shows_what_was_held_at_one_moment(first, second, columns):
    """The sum of a column was held at one time: it is never more than the device had, and the highest is the peak."""
    history = History(16 * GIB, 10.0, (Series("a", first), Series("b", second)))
    held = {sum(one.at(moment) for one in history.series) for moment in (*history.moments, 10.0)}
    shown = [sum(stack) for stack in history.stacks(columns)]
    assert set(shown) <= held | {0}
    assert max(shown) == max(held)


def test_what_was_held_before_a_column_begins_counts():
    """Between two changes memory is still held."""
    assert {stack[0] for stack in TWO.stacks(100)[11:50]} == {4 * GIB}


def test_the_scale_is_the_device_unless_hardly_anything_was_used():
    """A hundred MiB of 80 GiB would be an empty picture."""
    assert TWO.ceiling() == 16 * GIB
    small = History(80 * GIB, 1.0, (Series("a", ((0.0, 100 * MIB),)),))
    assert small.ceiling() == 128 * MIB
    assert History(80 * GIB, 1.0, ()).ceiling() == 80 * GIB
    assert rounded_up(3 * GIB) == 4 * GIB


@pytest.mark.parametrize(
    ("width", "ascii_only", "coloured"),
    tuple(itertools.product((40, 80, 120), (True, False), (True, False))),
)
def test_lines_fit_the_terminal_and_its_encoding(width, ascii_only, coloured):
    """No line is wider than the terminal, and none holds a character that it cannot show."""
    lines = [line.plain for line in draw_history(TWO, width, ascii_only=ascii_only, coloured=coloured)]
    assert max(map(len, lines)) <= width
    if ascii_only:
        assert "".join(lines).isascii()
    text = "\n".join(lines)
    assert "16 GiB" in text
    assert "10.0 s" in text
    assert all(f"{name} {peak}" in text for name, peak in (("alpha", "4 GiB"), ("beta", "12 GiB")))
    assert "x refused" in text


def test_holders_are_told_apart_without_colour():
    """Each has a fill of its own, in blocks as in ASCII."""
    for ascii_only, fills in ((False, "█▓"), (True, "#*")):
        body = "".join(line.plain for line in draw_history(TWO, 80, ascii_only=ascii_only, coloured=False)[:10])
        assert all(fill in body for fill in fills)


def test_a_little_memory_is_drawn_all_the_same():
    """What is far below a line's height is still a mark on the lowest line."""
    little = History(16 * GIB, 1.0, (Series("big", ((0.5, 15 * GIB),)), Series("small", ((0.0, MIB),))))
    lowest = draw_history(little, 40, ascii_only=False, coloured=True)[9].plain
    assert "▁" in lowest


def test_nothing_that_happened_in_no_time_is_a_picture_too():
    """A program that allocates once and ends at once divides by no zero."""
    at_once = History(GIB, 0.0, (Series("a", ((0.0, 0), (0.0, GIB))),), refusals=(0.0,))
    assert at_once.refused_in(10) == (0,)
    assert draw_history(at_once, 80, ascii_only=True, coloured=False)
    ET.fromstring(svg_history(at_once, "device 0"))


def test_the_svg_is_well_formed_and_tells_itself_to_those_who_cannot_see_it():
    """Names are escaped; the label holds peaks, total and refusals; each area has its name."""
    odd = History(16 * GIB, 2.0, (Series('<lib> & "so"', ((0.0, GIB),)),), refusals=(1.0,))
    root = ET.fromstring(svg_history(odd, "Device 0"))
    label = root.get("aria-label") or ""
    assert root.get("role") == "img"
    assert '<lib> & "so" at most 1 GiB' in label
    assert "of 16 GiB" in label
    assert "1 request refused" in label
    assert '<lib> & "so"' in [element.text for element in root.iter("title")]
    assert "&lt;lib&gt;" in legend(odd)


def test_a_long_log_makes_a_small_page():
    """A hundred thousand changes are cut into as many columns as a screen shows."""
    points = tuple((number / 1000, (number % 64) * MIB) for number in range(20_000))
    assert len(svg_history(History(GIB, 20.0, (Series("a", points),)), "device 0")) < 60_000
