"""Colours that stay apart for colour-blind eyes, on light and on dark ground (after Okabe and Ito).

https://jfly.uni-koeln.de/color/
"""

from __future__ import annotations

from typing import Final

TERMINAL: Final = ("cyan", "yellow", "magenta", "green", "blue", "red")
LIGHT: Final = ("#0072b2", "#d55e00", "#007a5a", "#a5407d", "#8a6500", "#4b5563")
DARK: Final = ("#56b4e9", "#ff8f4d", "#2fc79a", "#e79ac6", "#f0c04a", "#a8b3c4")


def terminal_colour(number: int) -> str:
    """Return the colour of a series in a terminal."""
    return TERMINAL[number % len(TERMINAL)]


def css_class(number: int) -> str:
    """Return the class of a series on a page; `style` defines it."""
    return f"c{number % len(LIGHT)}"


def style() -> str:
    """Return the CSS of the series' colours."""
    light = "".join(f"--c{number}:{colour};" for number, colour in enumerate(LIGHT))
    dark = "".join(f"--c{number}:{colour};" for number, colour in enumerate(DARK))
    classes = "".join(f".c{number}{{--series:var(--c{number})}}" for number in range(len(LIGHT)))
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}{classes}"
