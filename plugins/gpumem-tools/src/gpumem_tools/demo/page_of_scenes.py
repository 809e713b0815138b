"""The demo as a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpumem.plugin import human
from gpumem_tools import page
from gpumem_tools.chart.svg_spans import svg_spans
from gpumem_tools.demo import words
from gpumem_tools.demo.scenes import Scene

_LEGEND = (
    '<ul class="legend"><li><i class="full"></i>in use</li>'
    '<li><i class="pale"></i>held by the framework, but not in use</li></ul>'
)
_HEADS = ("framework", "wanted", "got", "taken for the first 1 MiB", "held at most", "refused with")
_AMOUNTS = frozenset({1, 2, 3, 4})


def demo_page(scenes: Sequence[Scene], broken: Sequence[str], numbers: Sequence[str], versions: str) -> str:
    """Return the page."""
    card = human(scenes[0].total)
    title = f"One {card} card, and who is left without memory"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="lead">{_with_code(words.takeaway(scenes, broken), scenes)}</p>',
        f'<p class="soft">{escape(words.SIMULATED)} {escape(versions)}</p>',
        _LEGEND,
    ]
    for number, scene in enumerate(scenes, 1):
        body += _scene(number, scene, numbers)
    body += [f'<p class="alarm">{escape(sentence)}</p>' for sentence in broken]
    body += [
        "<h2>What to do next</h2>",
        "<p>Test the same policy on your own machine:</p>",
        f"<pre><code>{escape(words.next_step(scenes))}</code></pre>",
    ]
    return page.page(title, body)


def _with_code(text: str, scenes: Sequence[Scene]) -> str:
    """Return a sentence with the lines of code in it set as code."""
    told = escape(text)
    for line in {escape(words.configure_call(scene)) for scene in scenes} - {""}:
        told = told.replace(line, f"<code>{line}</code>")
    return told


def _scene(number: int, scene: Scene, numbers: Sequence[str]) -> list[str]:
    heading = words.heading(scene)
    lines = [f'<h2><span class="number">{number}</span>{escape(heading)}</h2>']
    if line := words.configure_call(scene):
        lines.append(f"<p><code>{escape(line)}</code></p>")
    if scene.trouble:
        lines.append(f'<p class="alarm">This scene could not be played to its end: {escape(scene.trouble)}</p>')
    picture = svg_spans(words.spans_of(scene, numbers), scene.total, heading)
    rows = [
        (
            part.title,
            human(part.wanted),
            human(part.granted),
            "unknown" if part.first_taken is None else human(part.first_taken),
            human(part.held),
            words.error_class(part) or "-",
        )
        for part in scene.parts
    ]
    return [*lines, page.figure(picture, words.what_happens(scene)), page.table(_HEADS, rows, _AMOUNTS)]
