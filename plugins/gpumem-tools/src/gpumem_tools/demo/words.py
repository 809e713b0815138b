"""What is said of the scenes, in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence

from gpumem.plugin import human
from gpumem_tools.chart.spans import Span
from gpumem_tools.demo.scenes import SMALL, Part, Scene

SIMULATED = (
    "On simulated cards: the frameworks are the real ones and so is every request for memory; only the card that "
    "grants or refuses it is a model. No GPU is used."
)


def configure_call(scene: Scene) -> str:
    """Return the line of code that a scene is played with, empty where there is none."""
    if scene.policy is None:
        return ""
    return f"gpumem.configure({', '.join(f'{name}={value!r}' for name, value in scene.policy.items())})"


def heading(scene: Scene) -> str:
    """Return the title of a scene as a heading."""
    return scene.title[:1].upper() + scene.title[1:]


def what_happens(scene: Scene) -> str:
    """Return one sentence on what is asked."""
    wanted = human(scene.parts[0].wanted) if scene.parts else "some memory"
    return f"Each wants {wanted} of the {human(scene.total)}, one after the other, and keeps it."


def spans_of(scene: Scene, numbers: Sequence[str]) -> tuple[Span, ...]:
    """Return the parts of a scene as spans; `numbers` are the frameworks in the order of their colours."""
    spans = []
    start = 0
    for part in scene.parts:
        used = min(part.granted, part.held)
        spans.append(Span(part.title, start, used, part.idle, numbers.index(part.framework), note(part), part.starved))
        start += used + part.idle
    return tuple(spans)


def note(part: Part) -> str:
    """Return what became of a part, in one line."""
    if part.starved:
        return f"starved: got {human(part.granted)} of {human(part.wanted)} ({error_class(part)})"
    if part.first_taken is not None and part.first_taken > SMALL:
        return f"has its {human(part.granted)}, but took {human(part.first_taken)} at once"
    return f"has its {human(part.granted)}"


def error_class(part: Part) -> str:
    """Return the class of the error that a part met."""
    return part.error.partition(":")[0]


def takeaway(scenes: Sequence[Scene], broken: Sequence[str]) -> str:
    """Return what the reader should keep in mind."""
    if broken:
        return "The policy did not hold on the simulated card; the lines above say where."
    starved = [scene for scene in scenes if scene.policy is None and scene.starved]
    cured = next(scene for scene in scenes if scene.policy is not None)
    line = configure_call(cured)
    if not starved:
        return (
            "With these frameworks nobody starves on this card: none of them takes much ahead. "
            f"{line} still keeps each within its share, so that it stays so when one grows."
        )
    greedy = max(starved[0].parts, key=lambda part: part.first_taken or 0)
    others = starved[0].starved
    names = " and ".join(part.title for part in others)
    return (
        f"{greedy.title} took {human(greedy.first_taken or 0)} for its first 1 MiB, and {names} starved. "
        f"With {line} everybody fits, and no allocator held more than its cap."
    )


def next_step(scenes: Sequence[Scene]) -> str:
    """Return what to type next."""
    cap = next((scene.policy["cap"] for scene in scenes if scene.policy is not None), "2GiB")
    return f"gpumem prove --cap {cap} --growth true"
