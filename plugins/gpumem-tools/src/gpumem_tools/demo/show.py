"""The demo in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gpumem_tools.chart.terminal_spans import draw_spans
from gpumem_tools.console import only_ascii
from gpumem_tools.demo import words
from gpumem_tools.demo.scenes import Scene


def show(console: Console, scenes: Sequence[Scene], broken: Sequence[str], numbers: Sequence[str]) -> None:
    """Print the scenes, what was broken, what to take away, and what to type next."""
    ascii_only = only_ascii(console)
    console.print(words.SIMULATED)
    used, idle = ("#", "-") if ascii_only else ("█", "░")
    console.print(f"{used} in use   {idle} held, but not in use", style="dim")
    for number, scene in enumerate(scenes, 1):
        console.print()
        console.print(Text(f"{number}  {words.heading(scene)}", style="bold"))
        if line := words.configure_call(scene):
            console.print(Text(f"   {line}", style="green"))
        console.print(f"   {words.what_happens(scene)}")
        if scene.trouble:
            console.print(Text(f"   could not be played to its end: {scene.trouble}", style="bold red"))
        console.print(draw_spans(words.spans_of(scene, numbers), scene.total, console.width, ascii_only=ascii_only))
    console.print()
    for sentence in broken:
        console.print(Text(f"BROKEN  {sentence}", style="bold red"))
    console.print(Text(words.takeaway(scenes, broken), style="bold"))
    console.print()
    console.print("Next, test the same policy on this machine:")
    console.print(f"  {words.next_step(scenes)}")
