"""The consoles: results on stdout, progress on stderr, each readable in a pipe, without colour and in ASCII."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

WIDEST: Final = 110
"""Columns that are used at most: longer lines are hard to follow."""


def results() -> Console:
    """Return the console for results."""
    return _console(stderr=False)


def progress() -> Console:
    """Return the console for what accompanies a result."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if console.width > WIDEST:
        console.width = WIDEST
    return console


def only_ascii(console: Console) -> bool:
    """Return whether the console's encoding has no block characters."""
    try:
        "█░·─".encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def plain_table() -> Table:
    """Return an empty table without a frame: columns, and one line under the heads."""
    # Where the encoding has no lines, Rich draws them with ASCII.
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1))


@contextmanager
def told_if_slow(console: Console, text: str, seconds: float = 1.5) -> Iterator[None]:
    """Print a line if the block takes longer than some seconds."""
    timer = threading.Timer(seconds, console.print, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
