"""Draw docs/pictures/demo.svg from a result of the demo: python docs/draw_demo.py [--check].

The result is docs/pictures/demo.json, written by ``gpumem demo --json docs/pictures/demo.json`` with the newest
supported frameworks. A test plays the demo anew and compares the numbers; another runs this with ``--check``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from gpumem_tools.chart import palette
from gpumem_tools.chart.svg_spans import svg_spans
from gpumem_tools.demo import words
from gpumem_tools.demo.scenes import Part, Scene

PICTURES: Final = Path(__file__).parent / "pictures"
RESULT: Final = PICTURES / "demo.json"
PICTURE: Final = PICTURES / "demo.svg"
SHOWN: Final = (0, 2)
"""The scenes in the picture: several frameworks in one process, without a policy and with one."""

MARGIN: Final = 16
HEADING: Final = 30
LINE: Final = 22
WIDTH: Final = 860

STYLE: Final = """
:root{--ground:#fff;--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--alarm:#b42318}
@media (prefers-color-scheme:dark){:root{--ground:#0f1318;--ink:#e6e9ee;--soft:#a0a9b5;--line:#343c46;--alarm:#ff8b80}}
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--ink)}
.heading{font-size:15px;font-weight:600}.code{font-family:ui-monospace,Menlo,Consolas,monospace;fill:var(--soft)}
.ground{fill:var(--ground)}.grid{stroke:var(--line)}.scale{fill:var(--soft);font-size:12px}.label{font-weight:600}
.note{fill:var(--soft);paint-order:stroke;stroke:var(--ground);stroke-width:4px;stroke-linejoin:round}
.alarm{fill:var(--alarm);font-weight:600}
.used{fill:var(--series)}.idle{fill:var(--series);fill-opacity:.28}
"""


def scenes_of(result: Mapping[str, Any]) -> tuple[Scene, ...]:
    """Return the scenes of a result; the rows of reports are not needed here."""
    return tuple(
        Scene(**{**scene, "parts": tuple(Part(**{**part, "rows": ()}) for part in scene["parts"])})
        for scene in result["scenes"]
    )


def picture(result: Mapping[str, Any]) -> str:
    """Return the picture of a result, as a file of its own that is readable on light and on dark ground."""
    scenes, numbers = scenes_of(result), list(result["frameworks"])
    parts, top = [], MARGIN
    for scene in (scenes[number] for number in SHOWN):
        above = head(scene, top)
        start = top + HEADING + LINE * (len(above) - 1)
        drawn, height = chart(scene, numbers, start)
        parts += [*above, drawn]
        top = start + height + MARGIN
    told = escape(words.takeaway(scenes, ()))
    size = f'viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{told}">',
            f"<style>{(palette.style() + STYLE).strip()}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{top}"/>',
            *parts,
            "</svg>\n",
        ]
    )


def head(scene: Scene, top: int) -> list[str]:
    """Return what stands above a chart: what happens, and the line of code that was played."""
    lines = [f'<text class="heading" x="{MARGIN}" y="{top + 14}">{escape(words.heading(scene))}</text>']
    if call := words.configure_call(scene):
        lines.append(f'<text class="code" x="{MARGIN}" y="{top + 14 + LINE}">{escape(call)}</text>')
    return lines


def chart(scene: Scene, numbers: Sequence[str], top: int) -> tuple[str, int]:
    """Return the chart of a scene as a picture inside of the picture, and its height."""
    drawn = svg_spans(words.spans_of(scene, numbers), scene.total, words.heading(scene))
    height = int(drawn.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()[1])
    return drawn.replace("<svg ", f'<svg x="0" y="{top}" width="{WIDTH}" height="{height}" ', 1), height


def main(arguments: list[str]) -> int:
    """Write the picture; with ``--check`` only say whether it would change. Return the exit code."""
    drawn = picture(json.loads(RESULT.read_text(encoding="utf-8")))
    if PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == drawn:
        return 0
    if arguments == ["--check"]:
        sys.stdout.write(f"out of date: {PICTURE.relative_to(PICTURES.parent)}\n")
        return 1
    PICTURE.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
