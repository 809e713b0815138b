"""What a program did, in the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gpumem.plugin import human
from gpumem_tools.chart.terminal_history import draw_history
from gpumem_tools.console import only_ascii, plain_table
from gpumem_tools.simulate.observed import NO_LIBRARY, Device, Observed, Use


def show(console: Console, observed: Observed) -> None:
    """Print the devices that were used, with a table and a chart each."""
    console.print()
    if not observed.touched:
        console.print("gpumem simulate: the program asked for no device memory.", style="bold")
        return
    for device in observed.touched:
        console.print(Text(headline(device), style="bold"))
        console.print()
        table = plain_table()
        for head, justify in (
            ("process", "left"),
            ("library", "left"),
            ("requests", "right"),
            ("first", "right"),
            ("peak", "right"),
            ("refused", "left"),
        ):
            table.add_column(head, justify=justify, overflow="fold", no_wrap=head in ("process", "first", "peak"))  # type: ignore[arg-type]
        for use in device.uses:
            table.add_row(*cells(use), style="red" if use.refused else "")
        console.print(table)
        console.print()
        for line in draw_history(
            device.history, console.width, ascii_only=only_ascii(console), coloured=_coloured(console)
        ):
            console.print(line, no_wrap=True, overflow="crop")
        console.print()
    for process in observed.processes:
        if process.program:
            console.print(Text(f"process {process.pid}: {process.program}", style="dim"))
    untouched = [device.number for device in observed.devices if not device.uses]
    if untouched:
        console.print(f"not used: device {', '.join(map(str, untouched))}", style="dim")
    console.print("The requests are the program's own; granting them is modelled, and kernels do not run.", style="dim")


def headline(device: Device) -> str:
    """Return what a device is and how full it was."""
    share = f"{device.peak / device.total:.0%}" if device.total else "?"
    return f"device {device.number}: {device.name}, {human(device.total)}, at most {human(device.peak)} held ({share})"


def cells(use: Use) -> tuple[str, ...]:
    """Return the cells of a row."""
    if use.library in NO_LIBRARY:
        return (str(use.pid), use.library, "-", "-", human(use.peak), "-")
    return (
        str(use.pid),
        use.library,
        str(use.requests),
        human(use.first),
        human(use.peak),
        sizes(use.refused),
    )


def sizes(refused: Sequence[int], most: int = 3) -> str:
    """Return refused requests by size, the most frequent first.

    Example:
        >>> sizes([1 << 30, 1 << 30, 1 << 20])
        '2 x 1 GiB, 1 MiB'
    """
    counted = Counter(refused).most_common()
    shown = [f"{count} x {human(size)}" if count > 1 else human(size) for size, count in counted[:most]]
    more = sum(count for _size, count in counted[most:])
    return ", ".join(shown) + (f" and {more} more" if more else "") if refused else "-"


def _coloured(console: Console) -> bool:
    return console.is_terminal and not console.no_color and console.color_system is not None
