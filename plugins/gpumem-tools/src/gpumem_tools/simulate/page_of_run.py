"""What a program did, as a page."""

from __future__ import annotations

import shlex
from html import escape

from gpumem_tools import page
from gpumem_tools.chart.svg_history import legend, svg_history
from gpumem_tools.simulate.observed import Device, Observed
from gpumem_tools.simulate.show import cells, headline

_HEADS = ("process", "library", "requests", "first request", "held at most", "refused")
_AMOUNTS = frozenset({2, 3, 4})


def run_page(observed: Observed) -> str:
    """Return the page."""
    command = shlex.join(observed.command)
    count = observed.refused
    refused = f"{count} request{'s were' if count > 1 else ' was'} refused."
    body = [
        "<h1>Memory on simulated GPUs</h1>",
        f"<p><code>{escape(command)}</code></p>",
        f'<p class="lead">It ended with exit code {observed.returncode}. '
        + (f'<span class="alarm">{refused}</span>' if count else "No request was refused.")
        + "</p>",
    ]
    if not observed.touched:
        body.append("<p>The program asked for no device memory.</p>")
    for device in observed.touched:
        body += _device(device)
    known = [one for one in observed.processes if one.program]
    if known:
        rows = [(str(one.pid), "" if one.parent is None else str(one.parent), one.program) for one in known]
        body += ["<h2>Processes</h2>", page.table(("process", "started by", "program"), rows)]
    body.append(
        '<p class="soft">The requests are the program\'s own; granting them is modelled. Kernels do not run.</p>'
    )
    return page.page(f"gpumem simulate: {command}", body)


def _device(device: Device) -> list[str]:
    title = headline(device)
    caption = "Memory held over time, by library. The dashed line is the device's total."
    if device.history.refusals:
        caption += " A triangle marks a request that was refused."
    return [
        f"<h2>{escape(title[:1].upper() + title[1:])}</h2>",
        legend(device.history),
        page.figure(svg_history(device.history, f"Device {device.number}"), caption),
        page.table(_HEADS, [cells(use) for use in device.uses], _AMOUNTS),
    ]
