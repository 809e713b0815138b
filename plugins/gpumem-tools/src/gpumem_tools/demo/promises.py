"""What the policy promised, checked on what the simulated card saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpumem.plugin import human
from gpumem_core.sizes import parse_size
from gpumem_tools.demo.scenes import SMALL, Part, Scene


def broken_promises(scenes: Sequence[Scene]) -> tuple[str, ...]:
    """Return what was not as it should be, one sentence each.

    Of a scene with a policy that everybody fits, that no allocator held more than its cap, that nothing was taken
    ahead, and that gpumem's own report says so; of every scene that it was played to its end.
    """
    found = [f"{scene.title}: {scene.trouble}" for scene in scenes if scene.trouble]
    for scene in scenes:
        if scene.policy is not None and not scene.trouble:
            cap = parse_size(scene.policy["cap"]).bytes or 0
            found += [sentence for part in scene.parts for sentence in _broken(part, cap)]
    return tuple(found)


def _broken(part: Part, cap: int) -> Iterator[str]:
    if part.starved:
        yield f"{part.title} got {human(part.granted)} of {human(part.wanted)} within its cap: {first_line(part.error)}"
    if part.held > cap:
        yield f"{part.title} held {human(part.held)}, more than the cap of {human(cap)}"
    if part.held < part.granted:
        yield f"{part.title} was granted {human(part.granted)}, of which the card saw only {human(part.held)}"
    if part.first_taken is not None and part.first_taken > SMALL:
        yield f"{part.title} took {human(part.first_taken)} for its first 1 MiB although growth was asked"
    fields = {row["field"] for row in part.rows}
    for missing in {"cap", "preallocate"} - fields:
        yield f"{part.title}: the report says nothing about {missing}"
    for row in part.rows:
        if row["state"] != "in_force":
            yield f"{part.title}: {row['field']}={row['asked']} is {row['state'].replace('_', ' ')}: {row['why']}"


def first_line(text: str) -> str:
    """Return the first line of an error, at a length that people read."""
    line = text.partition("\n")[0]
    return line if len(line) <= 160 else f"{line[:157]}..."
